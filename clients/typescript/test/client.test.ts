// The client against a server that misbehaves.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { inspect } from "node:util";

import { jobsOf, write } from "../src/json.js";
import { bodyOf } from "../src/models.js";
import { Client, Invalid, NotAllowed, NotFound, RawJson, Refused, Unavailable } from "../src/index.js";
import { Fake, TOKEN } from "./fake.js";

let server: Fake;
let client: Client;

beforeEach(async () => {
  server = new Fake();
  await server.open();
  client = new Client(server.url, TOKEN, { retryFor: 5000 });
});
afterEach(() => server.close());

test("a repeat after a lost answer adds nothing", async () => {
  server.fail(/POST \/jobs$/, "lose", { times: 2 });
  const added = await client.enqueue("k", { n: 1 });
  assert.equal(server.requests.length, 3);
  assert.equal(new Set(server.requests.map(({ headers }) => headers["idempotency-key"])).size, 1);
  assert.deepEqual([...server.jobs.keys()], [added.id]);
});

test("each call is a job of its own", async () => {
  assert.notEqual((await client.enqueue("k")).id, (await client.enqueue("k")).id);
});

test("a repeat of a partial batch adds nothing", async () => {
  server.fail(/POST \/jobs\/batch/, "lose");
  const answers = await client.enqueueMany([{ kind: "k" }, { kind: "k" }], { partial: true });
  assert.deepEqual(
    answers.map((answer) => "duplicate" in answer && answer.duplicate),
    [false, false],
  );
  const [first, again] = server.asked(/batch/);
  assert.deepEqual(first, again);
  assert.match(String(first?.jobs[0].id), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("an answer cut in its middle is asked for again", async () => {
  server.fail(/POST \/jobs$/, "half");
  assert.ok(server.jobs.has((await client.enqueue("k")).id));
});

test("Retry-After is heeded", async () => {
  server.fail(/POST \/jobs$/, "say", { status: 503, headers: { "retry-after": "1" } });
  const began = performance.now();
  await client.enqueue("k");
  assert.ok(performance.now() - began >= 1000);
});

test("it gives up in time and says how often it tried", async () => {
  client = new Client(server.url, TOKEN, { retryFor: 500 });
  server.fail(/POST \/jobs$/, "cut", { times: 1000 });
  const began = performance.now();
  await assert.rejects(client.enqueue("k"), /could not reach .* gave up after \d+ tries in 500 ms/);
  assert.ok(performance.now() - began < 2000);
  // A server that wants to be left alone for longer than that is not asked again.
  server.faults = [];
  server.fail(/POST \/jobs$/, "say", { status: 429, headers: { "retry-after": "60" } });
  const before = server.requests.length;
  await assert.rejects(client.enqueue("k"), (error) => error instanceof Unavailable && error.retryAfter === 60_000);
  assert.equal(server.requests.length - before, 1);
});

test("nobody listens", async () => {
  const { url } = server;
  await server.close();
  client = new Client(url, TOKEN, { retryFor: 200 });
  await assert.rejects(client.get("x"), /could not reach http:.*: nobody listens there/);
});

test("a refusal is not repeated and says all of it", async () => {
  const detail = "priority is 10; it may be 0 to 9";
  const body = { code: "invalid", detail, request_id: "abc", errors: [{ pointer: "/priority", detail }] };
  server.fail(/POST \/jobs$/, "say", { status: 422, body });
  await assert.rejects(client.enqueue("k", 1, { priority: 10 }), (error) => {
    assert.ok(error instanceof Invalid);
    assert.deepEqual([error.status, error.code, error.requestId], [422, "invalid", "abc"]);
    assert.deepEqual(error.faults, [{ pointer: "/priority", detail }]);
    assert.equal(error.message, `${detail} (request abc)`);
    return true;
  });
  assert.equal(server.requests.length, 1);
});

test("errors are sorted", async () => {
  for (const [status, kind] of [[401, NotAllowed], [403, NotAllowed], [404, NotFound], [409, Refused], [413, Invalid]] as const) {
    server.fail(/GET \/jobs/, "say", { status, body: "<html>a proxy</html>" });
    await assert.rejects(client.get("x"), (error) => error instanceof kind && error.code === `http_${status}`);
  }
});

test("a cancel whose answer was lost is no error", async () => {
  const id = server.add("k");
  server.fail(/cancel$/, "lose");
  assert.equal((await client.cancel(id)).state, "cancelled");
  await assert.rejects(client.cancel(id), Refused);
});

test("the token is shown nowhere", async () => {
  const secret = "lsh_very_secret";
  client = new Client(server.url, secret, { retryFor: 100 });
  let said = inspect(client, { depth: 10, showHidden: true }) + JSON.stringify(client) + String(client);
  for (const one of [client, new Client("http://127.0.0.1:1", secret, { retryFor: 0 })]) {
    await one.get("x").catch((error: unknown) => (said += inspect(error, { depth: 10, showHidden: true })));
  }
  for (const make of [
    () => new Client(server.url, `${secret}\r\nx: y`),
    () => new Client(`http://me:${secret}@host`),
    () => new Client(`http://me:${secret}@:x`),
  ]) {
    assert.throws(make, (error) => {
      said += inspect(error);
      return true;
    });
  }
  assert.ok(!said.includes(secret), said);
});

test("URLs that are none are refused", () => {
  for (const url of ["localhost:7878", "ftp://host", "http://", "http://host/?q", "http://host/#f"]) {
    assert.throws(() => new Client(url), TypeError, url);
  }
});

test("a redirect is not followed with the token", async () => {
  server.fail(/GET/, "say", { status: 307, headers: { location: `${server.url}/elsewhere` } });
  await assert.rejects(client.get("x"), /status 307/);
  assert.equal(server.requests.length, 1);
});

test("a signal ends what waits", async () => {
  server.fail(/GET/, "say", { times: 1000, status: 503 });
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 200);
  const began = performance.now();
  await assert.rejects(client.get("x", { signal: stop.signal }), { name: "AbortError" });
  assert.ok(performance.now() - began < 2000);
});

test("options are said as the API wants them", () => {
  const body = bodyOf({
    kind: "k",
    payload: new RawJson('{"n":12345678901234567890123}'),
    runAt: new Date(Date.UTC(2030, 0, 2, 3, 4, 5)),
    timeout: 1500,
    retain: 0,
    uniqueWithin: "1d",
    tags: ["a"],
  });
  assert.equal(
    write(body),
    '{"kind":"k","payload":{"n":12345678901234567890123},"run_at":"2030-01-02T03:04:05.000Z","timeout":"1500ms",' +
      '"retain":"0ms","tags":["a"],"unique_within":"1d"}',
  );
  assert.throws(() => bodyOf({ kind: "k", timeout: -1 }), RangeError);
  assert.throws(() => bodyOf({ kind: "k", timeout: NaN }), RangeError);
  assert.throws(() => new RawJson('1, "kind": "other"'), SyntaxError);
});

test("the text of each payload", () => {
  const text = ' { "wish" : "quiet", "jobs" : [ {"id":"a","payload": {"a" : [1, 2.50]} ,"n":1}, {"payload":"]}\\"","id":"b"}] }';
  const { whole, payloads } = jobsOf(text);
  assert.deepEqual(payloads, ['{"a" : [1, 2.50]}', '"]}\\""']);
  assert.equal(whole.wish, "quiet");
  assert.deepEqual(jobsOf('{"jobs":[],"wish":null}').payloads, []);
  for (const payload of ["1", "-1.5e3", "true", '""', '"\\\\"', "[]", "{}", '{"jobs":[{"payload":2}]}', "[[[]],{}]"]) {
    assert.deepEqual(jobsOf(`{"wish":null,"jobs":[{"id":"x","payload":${payload}}]}`).payloads, [payload]);
    assert.deepEqual(jobsOf(`{"jobs":[{"payload":${payload},"id":"x"}]}`).payloads, [payload]);
  }
});
