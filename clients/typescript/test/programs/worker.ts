// A worker for tests that kill it, its server, or both. What it does it writes to the file RUNS, a JSON line each.

import { appendFileSync, existsSync, writeFileSync } from "node:fs";

import { Cancel, Client, Dead, RawJson, RetryIn, type Run, Snooze, Throttle, Worker } from "../../src/index.js";

const { LONGSHORE_URL = "", LONGSHORE_TOKEN, RUNS = "", SLOTS = "4", NAME = "typescript" } = process.env;
const worker = new Worker(new Client(LONGSHORE_URL, LONGSHORE_TOKEN), {
  queues: { default: Number(SLOTS) },
  name: NAME,
  lease: Number(process.env.LEASE ?? "60") * 1000,
  grace: Number(process.env.GRACE ?? "25") * 1000,
  logger: console,
});

function note(run: Run, event: string, more: Record<string, unknown> = {}): void {
  const line = { event, job: run.id, attempt: run.attempt, pid: process.pid, at: Date.now() / 1000, ...more };
  appendFileSync(RUNS, `${JSON.stringify(line)}\n`);
}

// Takes `ms`, and answers its payload.
worker.handle("count", async (run) => {
  note(run, "began");
  try {
    await run.sleep(run.payload.ms);
    return new RawJson(run.payloadText);
  } finally {
    note(run, "ended");
  }
});

// Until it is told to stop.
worker.handle("hold", async (run) => {
  note(run, "began");
  await new Promise((resolve) => run.signal.addEventListener("abort", resolve));
  note(run, "told", { why: run.why });
  run.check();
});

// Heeds nothing.
worker.handle("deaf", async (run) => {
  note(run, "began");
  await new Promise((resolve) => setTimeout(resolve, run.payload.ms));
  note(run, "ended", { why: run.why });
  return "late";
});

// What the payload names, the first time.
worker.handle("outcome", (run) => {
  run.progress(0.5, "half");
  run.log("here", { level: "warn", fields: { n: run.attempt } });
  const { how, mark } = run.payload;
  const first = !existsSync(mark);
  writeFileSync(mark, "");
  if (how === "snooze" && first) throw new Snooze(200);
  if (how === "throttle" && first) return new Throttle(200);
  if (how === "retry" && run.attempt === 1) throw new RetryIn(200, "once more");
  if (how === "cancel") return new Cancel("not wanted");
  if (how === "dead") throw new Dead("never");
  if (how === "fail") throw new TypeError("x", { cause: new RangeError("y") });
  return new RawJson(`{"attempt": ${run.attempt}, "n": 123456789012345678901234567890}`);
});

await worker.run();
process.exit(); // a handler that heeds nothing would keep it
