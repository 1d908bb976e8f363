// Against a real server: LONGSHORE_TEST_URL and LONGSHORE_TEST_TOKEN (an admin's) name it. No other worker may run.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test as always } from "node:test";

import {
  Cancel,
  Client,
  Dead,
  Invalid,
  NotAllowed,
  NotEnded,
  NotFound,
  RawJson,
  Refused,
  RetryIn,
  Snooze,
  Worker,
} from "../src/index.js";
import { until } from "./fake.js";

const { LONGSHORE_TEST_URL: URL = "", LONGSHORE_TEST_TOKEN: TOKEN = "" } = process.env;
const client = URL === "" ? (undefined as unknown as Client) : new Client(URL, TOKEN);

function test(name: string, body: () => Promise<void>): void {
  always(name, { skip: URL === "" && "LONGSHORE_TEST_URL names no server" }, body);
}

test("every option arrives", async () => {
  const id = randomUUID();
  const payload = new RawJson('{"n": 12345678901234567890123,  "secret": "x"}');
  const runAt = new Date("2040-01-02T03:04:05.678Z");
  const added = await client.enqueue("never", payload, {
    queue: "nobody's",
    priority: 2,
    runAt,
    maxAttempts: 3,
    backoff: { fixed: { delay_ms: 1500 } },
    timeout: 120_000,
    retain: "3d",
    tags: ["a", "b"],
    meta: { from: "tests" },
    uniqueKey: `key-${id}`,
    uniqueWithin: 86_400_000,
    onConflict: "refuse",
    id,
    payloadVersion: 7,
    redacted: ["mail"],
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  });
  assert.deepEqual(added, { id, duplicate: false, replaced: false });
  const job = await client.get(id);
  assert.deepEqual([job.kind, job.queue, job.priority, job.state], ["never", "nobody's", 2, "scheduled"]);
  assert.deepEqual([job.runAt, job.maxAttempts, job.tags], [runAt, 3, ["a", "b"]]);
  assert.match(job.text, /12345678901234567890123/);
  const { backoff, timeout_ms, retain_ms, payload_version, redacted } = job.raw;
  assert.deepEqual(
    [backoff, timeout_ms, retain_ms, payload_version, redacted],
    [{ fixed: { delay_ms: 1500 } }, 120_000, 3 * 86_400_000, 7, ["mail"]],
  );
  assert.equal(job.meta?.from, "tests");
  const again = { runAt, uniqueKey: `key-${id}`, uniqueWithin: "1d", onConflict: "refuse" } as const;
  await assert.rejects(client.enqueue("never", 1, again), (error) => error instanceof Refused && error.code === "key_held");
  assert.ok((await client.enqueue("never", payload, { id })).duplicate);
  const forever = await client.enqueue("never", 1, { timeout: "none", uniqueKey: id, uniqueForGood: true, runIn: "1h" });
  assert.equal((await client.get(forever.id)).raw.timeout_ms ?? null, null);
});

test("a key of one's own", async () => {
  const idempotencyKey = randomUUID();
  const first = await client.enqueue("never", 1, { idempotencyKey });
  assert.deepEqual(await client.enqueue("never", 1, { idempotencyKey }), first);
  await assert.rejects(client.enqueue("never", 2, { idempotencyKey }), { code: "key_reused" });
});

test("faults have their places", async () => {
  await assert.rejects(client.enqueue("never", 1, { priority: 10 }), (error) => {
    assert.ok(error instanceof Invalid && error.requestId);
    assert.deepEqual([error.status, error.faults[0]?.pointer], [422, "/priority"]);
    assert.match(error.detail, /priority is 10; it may be 0 to 9/);
    return true;
  });
  await assert.rejects(client.enqueueMany([{ kind: "never" }, { kind: "never", priority: 10 }]), (error) => {
    return error instanceof Invalid && error.faults[0]?.pointer === "/jobs/1/priority";
  });
  await assert.rejects(new Client(URL, `lsh_${"0".repeat(64)}`).get("x"), NotAllowed);
  await assert.rejects(client.get(randomUUID()), NotFound);
});

test("many", async () => {
  const jobs = [...Array(2500).keys()].map((payload) => ({ kind: "never", payload }));
  const answers = await client.enqueueMany(jobs);
  assert.equal(new Set(answers.map(({ id }) => id)).size, 2500);
  assert.equal((await client.get(answers[2345]?.id ?? "")).payload, 2345);
  const some = await client.enqueueMany([{ kind: "never" }, { kind: "never", priority: 10 }], { partial: true });
  assert.deepEqual(
    some.map((one) => "error" in one),
    [false, true],
  );
});

test("wait, cancel and retry", async () => {
  const { id } = await client.enqueue("never", 1, { maxAttempts: 1 });
  await assert.rejects(client.wait(id, { timeout: 200 }), (error) => {
    return error instanceof NotEnded && error.job.state === "queued";
  });
  assert.equal((await client.cancel(id, { why: "not wanted" })).state, "cancelled");
  assert.equal((await client.wait(id, { timeout: 5000 })).state, "cancelled");
  assert.equal((await client.retry(id, { attempts: 2, payload: { again: true } })).state, "queued");
  assert.deepEqual((await client.get(id)).payload, { again: true });
});

test("a worker and its outcomes", async () => {
  const queue = "typescript";
  let snoozed = false;
  const worker = new Worker(client, { queues: { [queue]: 4 }, name: "live", version: "1.2.3" });
  const schema = { type: "object" };
  worker.handle(
    "big",
    (run) => {
      run.progress(0.5, "half");
      run.log("here", { level: "warn", fields: { n: 1 } });
      return new RawJson(`{"same": ${run.payloadText}}`);
    },
    { description: "echoes", schema },
  );
  worker.handle<string>("outcome", (run) => {
    if (run.payload === "snooze" && !snoozed) {
      snoozed = true;
      throw new Snooze(100);
    }
    if (run.payload === "retry" && run.attempt === 1) return new RetryIn(100, "once more");
    if (run.payload === "dead") throw new Dead("never");
    if (run.payload === "cancel") return new Cancel("not wanted");
    if (run.payload === "fail") throw new TypeError("no", { cause: new RangeError("x") });
    return run.attempt;
  });
  worker.handle("long", (run) => run.sleep(60_000));
  worker.start();
  const running = (id: string): Promise<void> =>
    until("it runs", async () => (await client.get(id)).state === "running");
  let last = "";
  try {
    const text = '{"n": 123456789012345678901234567890,  "x": 1.50}';
    const { id } = await client.enqueue("big", new RawJson(text), { queue, meta: { a: 1 } });
    const big = await client.wait(id, { timeout: 20_000 });
    assert.equal(big.state, "succeeded", JSON.stringify(big.errors));
    assert.ok(big.text.includes(`{"same": ${text}}`), big.text);
    assert.match(await client.ask("GET", `/jobs/${id}/logs`), /"here"/);
    const expected = [
      ["snooze", "succeeded", 1, 1],
      ["retry", "succeeded", 2, 2],
      ["dead", "dead", undefined, 1],
      ["cancel", "cancelled", undefined, 1],
      ["fail", "dead", undefined, 1],
    ] as const;
    let job = big;
    for (const [how, state, output, attempt] of expected) {
      const added = await client.enqueue("outcome", how, { queue, maxAttempts: how === "fail" ? 1 : 5 });
      job = await client.wait(added.id, { timeout: 20_000 });
      assert.deepEqual([job.state, job.output ?? undefined, job.attempt], [state, output, attempt], how);
    }
    assert.deepEqual([job.errors[0]?.message, job.errors[0]?.chain], ["TypeError: no", ["RangeError: x"]]);
    const late = await client.enqueue("long", 1, { queue, timeout: 500, maxAttempts: 1 });
    job = await client.wait(late.id, { timeout: 20_000 });
    assert.deepEqual([job.state, job.errors[0]?.message], ["dead", "ran longer than its timeout of 500ms"]);
    const cancelled = await client.enqueue("long", 1, { queue });
    await running(cancelled.id);
    const at = performance.now();
    await client.cancel(cancelled.id, { why: "enough" });
    assert.equal((await client.wait(cancelled.id, { timeout: 20_000 })).state, "cancelled");
    assert.ok(performance.now() - at < 1500);
    last = (await client.enqueue("long", 1, { queue })).id;
    await running(last);
  } finally {
    await worker.stop({ grace: 100 });
  }
  const job = await client.get(last);
  assert.deepEqual([job.state, job.attempt], ["queued", 0], "given back, and the attempt does not count");
});
