// The worker against a server that misbehaves.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { shown } from "../src/beat.js";
import {
  Cancel,
  Client,
  Dead,
  NotAllowed,
  RetryIn,
  type Run,
  Snooze,
  Stopped,
  Throttle,
  Worker,
  type WorkerOptions,
} from "../src/index.js";
import { Fake, TOKEN, sleep, until } from "./fake.js";

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

let server: Fake;
let client: Client;
let runs: Run[];
let workers: Worker[];
let letGo: () => void;
let gate: Promise<void>;

beforeEach(async () => {
  server = new Fake();
  await server.open();
  client = new Client(server.url, TOKEN);
  runs = [];
  workers = [];
  gate = new Promise((resolve) => (letGo = resolve));
});
afterEach(async () => {
  letGo();
  await Promise.all(workers.map((worker) => worker.stop({ grace: 0 })));
  await server.close();
});

function prepared(options: WorkerOptions = {}): Worker {
  return new Worker(client, { logger: SILENT, ...options })
    .handle("echo", (run) => {
      runs.push(run);
      return { payload: run.payload as unknown, attempt: run.attempt };
    })
    .handle("hold", async (run) => {
      runs.push(run);
      await new Promise((resolve, reject) => {
        void gate.then(resolve);
        run.signal.addEventListener("abort", () => reject(run.signal.reason as Error));
      });
      return "let go";
    })
    .handle("deaf", async (run) => {
      runs.push(run);
      await gate;
      return "late";
    });
}

function started(worker: Worker): Worker {
  worker.start();
  workers.push(worker);
  return worker;
}

/** The end of a job that this function handles. */
async function handled(handler: (run: Run) => unknown): Promise<Record<string, any>> {
  started(prepared().handle("it", handler));
  return server.oneEnd(server.add("it"));
}

/** How often an end of the job was handed in, right or wrong. */
const sent = (id: string): number =>
  server.asked(/\/end$/).flatMap((body) => body.ends as { job: string }[]).filter((end) => end.job === id).length;
const began = (count = 1): Promise<void> => until("runs have begun", () => runs.length >= count);
const told = (): Promise<void> => until("the run is told to stop", () => runs[0]?.signal.aborted === true);

test("a run returns its output, and has the payload's text", async () => {
  started(prepared());
  const end = await server.oneEnd(server.add("echo", '{"n": 12345678901234567890}'));
  assert.equal(end.end, "complete");
  assert.equal(end.output.attempt, 1);
  assert.equal(runs[0]?.payloadText, '{"n": 12345678901234567890}');
});

test("what a handler may return or throw", async () => {
  const cases: [Error, Record<string, unknown>][] = [
    [new Snooze(1500), { end: "snooze", delay_ms: 1500 }],
    [new Throttle(2000), { end: "throttle", delay_ms: 2000 }],
    [new Cancel("gone"), { end: "cancel", reason: "gone" }],
    [new Dead("never"), { end: "fail", error: { message: "never" }, dead: true }],
    [new RetryIn(3000, "soon"), { end: "fail", error: { message: "soon" }, retry_in_ms: 3000 }],
    [new Stopped(), { end: "snooze", delay_ms: 1000 }],
    [new TypeError("no"), { end: "fail", error: { message: "TypeError: no" } }],
  ];
  const worker = prepared()
    .handle<number>("throw", (run) => {
      throw cases[run.payload]?.[0];
    })
    .handle<number>("return", async (run) => cases[run.payload]?.[0]);
  started(worker);
  for (const [n, [outcome, expected]] of cases.entries()) {
    for (const way of outcome instanceof Stopped || outcome instanceof TypeError ? ["throw"] : ["throw", "return"]) {
      const { job: _, lease: __, ...end } = await server.oneEnd(server.add(way, String(n)));
      assert.deepEqual(end, expected);
    }
  }
});

test("an error fails with its causes", async () => {
  const end = await handled(() => {
    throw new TypeError("half a \ud800 letter", { cause: new RangeError("x", { cause: "deep" }) });
  });
  assert.deepEqual(end.error, { message: "TypeError: half a \ufffd letter", chain: ["RangeError: x", "deep"] });
});

test("an output that is none or too large leaves a marker", async () => {
  assert.equal((await handled(() => 1n)).output.longshore, "output dropped");
  await Promise.all(workers.map((worker) => worker.stop({ grace: 0 })));
  const end = await handled(() => "x".repeat(1 << 20));
  assert.deepEqual([end.end, end.output.size_bytes], ["complete", (1 << 20) + 2]);
});

test("an end that is refused fails the run", async () => {
  const end = await handled(() => "refuse me");
  assert.equal(end.end, "fail");
  assert.match(end.error.message, /the server refused how the run ended/);
});

test("words come before the end", async () => {
  await handled((run) => {
    run.progress(0.25, "a quarter");
    run.log("here", { level: "warn", fields: { n: 1, odd: 1n } });
    assert.throws(() => run.progress(1.5), RangeError);
  });
  const said = server.said[0];
  assert.deepEqual(said?.progress, { fraction: 0.25, text: "a quarter" });
  assert.deepEqual([said?.lines[0].message, said?.lines[0].level, said?.lines[0].fields], ["here", "warn", { n: 1, odd: "1" }]);
  const order = server.requests.map(({ line }) => line.replace(/.*\//, "")).filter((one) => ["say", "end"].includes(one));
  assert.deepEqual(order.slice(0, 2), ["say", "end"]);
});

test("words whose answer was lost are said again under their number", async () => {
  server.fail(/\/say$/, "lose", { times: 2 });
  await handled((run) => {
    for (let n = 0; n < 600; n += 1) run.log(`line ${n}`);
  });
  const firsts = server.said.map((said) => said.first as number);
  assert.deepEqual([...firsts.slice(0, 3), firsts.at(-1)], [0, 0, 0, 500]);
  const lines = new Map(server.said.map((said) => [said.first as number, said.lines as { message: string }[]]));
  const texts = [...lines].sort(([a], [b]) => a - b).flatMap(([, some]) => some.map((line) => line.message));
  assert.deepEqual(texts, [...Array(600).keys()].map((n) => `line ${n}`));
});

test("too many words give way and are counted", async () => {
  server.fail(/\/say$/, "cut", { times: 2 });
  await handled((run) => {
    for (let n = 0; n < 1500; n += 1) run.log(`line ${n}`);
  });
  const texts = server.said.flatMap((said) => (said.lines as { message: string }[]).map((line) => line.message));
  assert.deepEqual([texts[0], texts.at(-1), texts.length], ["… 501 lines left out", "line 1499", 1000]);
});

test("a lost answer of a lease loses no job", async () => {
  const id = server.add("echo");
  server.fail(/\/lease$/, "lose");
  started(prepared());
  assert.equal((await server.oneEnd(id)).output.attempt, 1);
  assert.equal(runs.length, 1);
});

test("a lost answer of an end is asked for again and runs nothing twice", async () => {
  server.fail(/\/end$/, "lose", { times: 3 });
  started(prepared());
  const id = server.add("echo");
  await server.oneEnd(id);
  await until("it is repeated", () => server.asked(/\/end$/).length >= 4);
  await sleep(200);
  assert.deepEqual([server.ends(id).length, runs.length, server.late], [1, 1, []]);
});

test("ends are held while the server is away", async () => {
  server.fail(/\/end$/, "say", { times: 3, status: 503, headers: { "retry-after": "0.2" } });
  started(prepared());
  const ids = [...Array(8)].map(() => server.add("echo"));
  for (const id of ids) await server.oneEnd(id);
  // What has gathered meanwhile goes out together.
  assert.ok(Math.max(...server.asked(/\/end$/).map((body) => body.ends.length as number)) >= 4);
});

test("a job that is being ended is still held", async () => {
  server.fail(/\/end$/, "cut", { times: 4 });
  started(prepared());
  const id = server.add("echo");
  await server.oneEnd(id);
  assert.ok(server.asked(/\/lease$/).some((body) => body.holds.includes(id)));
  await sleep(200); // its end is answered
  await server.oneEnd(server.add("echo"));
  await until("it is let go", () => !server.asked(/\/lease$/).at(-1)?.holds.includes(id));
  assert.equal(runs.length, 2);
});

test("a job that comes twice runs once", async () => {
  server.forgetsHolds = 1;
  started(prepared());
  const id = server.add("hold");
  await until("it came twice", () => server.forgetsHolds === 0);
  await sleep(200);
  letGo();
  await server.oneEnd(id);
  assert.equal(runs.length, 1);
});

test("a cancel arrives within a second", async () => {
  started(prepared());
  const id = server.add("hold");
  await began();
  const at = performance.now();
  server.job(id).cancel = true;
  await told();
  assert.ok(performance.now() - at < 1000);
  assert.equal((await server.oneEnd(id)).end, "give_back");
  assert.deepEqual([runs[0]?.why, server.job(id).state], ["cancel", "cancelled"]);
});

test("a cancel that comes after the run is heeded by its end", async () => {
  server.fail(/\/end$/, "cut", { times: 3 });
  started(prepared());
  const id = server.add("echo");
  await began();
  server.job(id).cancel = true;
  await server.oneEnd(id);
  assert.equal(server.job(id).state, "cancelled");
  await server.oneEnd(server.add("echo"));
  assert.deepEqual(server.late, []);
});

test("an open cancel does not make heartbeats run hot", async () => {
  started(prepared());
  const id = server.add("deaf");
  await began();
  server.job(id).cancel = true;
  await told();
  const before = server.asked(/heartbeat$/).length;
  await sleep(1500);
  assert.ok(server.asked(/heartbeat$/).length - before < 6);
});

test("a run over its timeout ends, and what it returns later is dropped", async () => {
  started(prepared({ queues: { default: 1 } }));
  const id = server.add("deaf", "null", { timeout_ms: 300 });
  const after = server.add("echo");
  const end = await server.oneEnd(id);
  assert.deepEqual([end.end, end.error.message], ["fail", "ran longer than its timeout of 300ms"]);
  assert.equal(runs[0]?.why, "timeout");
  assert.ok(runs[0]?.deadline);
  await sleep(300);
  assert.equal(runs.length, 1, "its slot is taken while it goes on");
  letGo();
  await server.oneEnd(after);
  await sleep(200);
  assert.deepEqual([sent(id), server.late], [1, []]);
  assert.deepEqual([300, 1000, 1500, 3_600_000].map(shown), ["300ms", "1s", "1.5s", "3600s"]);
});

test("what the signal breaks off is no failure", async () => {
  const worker = prepared().handle("fetch", (run) => {
    runs.push(run);
    return new Promise((_, reject) => {
      run.signal.addEventListener("abort", () => reject(new DOMException("broken off", "AbortError")));
    });
  });
  started(worker);
  const id = server.add("fetch");
  await began();
  server.job(id).cancel = true;
  assert.equal((await server.oneEnd(id)).end, "give_back");
});

test("a lost node drops its runs and joins anew", async () => {
  started(prepared());
  const id = server.add("deaf");
  await began();
  server.loseNodes();
  server.job(id).node = "another";
  await told();
  assert.equal(runs[0]?.why, "lost");
  letGo();
  await server.oneEnd(server.add("echo"));
  assert.deepEqual([server.ends(id), server.late], [[], []], "nothing is said of the old run");
});

test("a worker that slept past its lease hands in nothing", async (t) => {
  started(prepared());
  const id = server.add("deaf");
  await began();
  // It wakes up with a run that is over, and no heartbeat gets through yet.
  server.fail(/heartbeat$/, "cut", { times: 10_000 });
  const real = Date.now;
  t.mock.method(Date, "now", () => real() + 3_600_000);
  letGo();
  await sleep(700);
  assert.equal(sent(id), 0, "the heartbeat comes first");
  // Meanwhile the server has given its job to another, and now it says so.
  server.loseNodes();
  server.job(id).node = "another";
  server.faults = [];
  await until("it has joined anew", () => server.asked(/POST \/work\/nodes$/).length === 2);
  await server.oneEnd(server.add("echo"));
  assert.deepEqual([sent(id), server.late], [0, []]);
});

test("a lease that nobody renews tells runs to stop", async (t) => {
  started(prepared());
  server.add("hold");
  await began();
  server.fail(/heartbeat$/, "cut", { times: 10_000 });
  const real = Date.now;
  t.mock.method(Date, "now", () => real() + 3_600_000);
  await told();
  assert.equal(runs[0]?.why, "lost");
  const asked = server.asked(/\/lease$/).length;
  server.add("echo");
  await sleep(500);
  assert.ok(server.asked(/\/lease$/).length <= asked + 1, "it asks for nothing more");
  server.faults = [];
  await until("both ended", () => server.ended.length === 2);
});

test("a stop waits, then gives back and leaves", async () => {
  const worker = started(prepared());
  const [short, long, deaf] = [server.add("echo"), server.add("hold"), server.add("deaf")];
  await began(3);
  await server.oneEnd(short);
  const at = performance.now();
  await worker.stop({ grace: 500 });
  const took = performance.now() - at;
  const ends = await Promise.all([short, long, deaf].map(async (id) => (await server.oneEnd(id)).end));
  assert.deepEqual(ends, ["complete", "give_back", "give_back"]);
  assert.equal(server.nodes.size, 0);
  assert.ok(took >= 490 && took < 4000, String(took));
  assert.ok(![...server.jobs.values()].some((job) => job.rescued));
  const before = server.requests.length;
  server.add("echo");
  await sleep(300);
  assert.equal(server.requests.length, before);
});

test("a stop lets runs end within its grace", async () => {
  const worker = started(prepared());
  const id = server.add("hold");
  await began();
  setTimeout(letGo, 300);
  await worker.stop({ grace: 10_000 });
  assert.equal((await server.oneEnd(id)).output, "let go");
});

test("the server's wishes are heeded", async () => {
  const done = prepared().run({ signals: false });
  await until("it has joined", () => server.nodes.size === 1);
  const node = [...server.nodes.values()][0];
  assert.ok(node);
  await server.oneEnd(server.add("echo"));
  node.wish = "quiet";
  await until("it is quiet", () => node.state === "quiet");
  const quiet = server.add("echo");
  await sleep(500);
  assert.deepEqual(server.ends(quiet), []);
  node.wish = null;
  await server.oneEnd(quiet);
  node.wish = "stop";
  await done;
  assert.equal(server.nodes.size, 0);
});

test("a signal stops it", async () => {
  const stop = new AbortController();
  const done = prepared().run({ signal: stop.signal, signals: false });
  await server.oneEnd(server.add("echo"));
  stop.abort();
  await done;
  assert.equal(server.nodes.size, 0);
});

test("a full queue does not hold up another", async () => {
  started(prepared({ queues: { default: 1, mail: 1 } }));
  const first = server.add("hold");
  await began();
  await until("mail alone is asked for", () => {
    const asked = server.asked(/\/lease$/).at(-1)?.queues as { queue: string }[];
    return asked.length === 1 && asked[0]?.queue === "mail";
  });
  const second = server.add("echo");
  letGo();
  await server.oneEnd(first);
  const at = performance.now();
  await server.oneEnd(second);
  assert.ok(performance.now() - at < 1000);
  assert.equal(runs.length, 2);
});

test("it takes no more than it has room for", async () => {
  started(prepared({ queues: { default: 3 } }));
  const ids = [...Array(10)].map(() => server.add("hold"));
  await began(3);
  await sleep(300);
  assert.equal([...server.jobs.values()].filter((job) => job.state === "running").length, 3);
  letGo();
  for (const id of ids) await server.oneEnd(id);
});

test("a worker that is refused says so", async () => {
  client = new Client(server.url, "wrong");
  await assert.rejects(prepared().run({ signals: false }), NotAllowed);
});

test("a server that is not there yet is waited for", async () => {
  server.fail(/POST \/work\/nodes$/, "cut", { times: 3 });
  started(prepared());
  await server.oneEnd(server.add("echo"));
});

test("mistakes are told", () => {
  const worker = new Worker(client);
  assert.throws(() => worker.start(), /without a handler/);
  assert.throws(() => worker.handle("k", () => 1).handle("k", () => 2), /has a handler already/);
});
