// A small server that keeps the contract of work over HTTP in memory, and misbehaves as a test wants it to.

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const TOKEN = "lsh_secret_of_the_tests";

interface FakeJob {
  id: string;
  kind: string;
  queue: string;
  payload: string;
  state: string;
  attempt: number;
  timeout_ms: number | null;
  cancel: boolean;
  node: string | null;
  lease: number | null;
  was?: string;
  rescued?: boolean;
}

export interface FakeNode {
  id: string;
  lease: number;
  expires: number;
  wish: string | null;
  state: string;
}

interface Fault {
  pattern: RegExp;
  how: "cut" | "lose" | "half" | "say";
  times: number;
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
}

type Body = Record<string, any>;

export class Fake {
  readonly jobs = new Map<string, FakeJob>();
  readonly nodes = new Map<string, FakeNode>();
  readonly keys = new Map<string, string>();
  readonly requests: { line: string; body: Body | undefined; headers: IncomingMessage["headers"] }[] = [];
  readonly ended: [string, Body][] = [];
  readonly said: Body[] = [];
  readonly late: Body[] = [];
  faults: Fault[] = [];
  /** So many calls with `holds` are answered as if these were lost. */
  forgetsHolds = 0;
  #leases = 1000;
  #http: Server;

  constructor() {
    this.#http = createServer((request, response) => void this.#answer(request, response).catch(() => response.destroy()));
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#http.listen(0, "127.0.0.1", resolve));
  }

  async close(): Promise<void> {
    this.nodes.clear();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  // What tests do

  add(kind: string, payload = "null", more: Partial<FakeJob> = {}): string {
    const id = more.id ?? randomUUID();
    const job = { id, kind, queue: "default", payload, state: "queued", attempt: 0, timeout_ms: null };
    this.jobs.set(id, { ...job, cancel: false, node: null, lease: null, ...more });
    return id;
  }

  fail(pattern: RegExp, how: Fault["how"], more: Partial<Fault> = {}): void {
    this.faults.push({ pattern, how, times: 1, ...more });
  }

  job(id: string): FakeJob {
    return this.jobs.get(id) as FakeJob;
  }

  /** All leases are over, and their jobs given to others. */
  loseNodes(): void {
    for (const job of this.jobs.values()) {
      if (job.state === "running") Object.assign(job, { state: "queued", node: null, lease: null });
    }
    this.nodes.clear();
  }

  asked(pattern: RegExp): Body[] {
    return this.requests.filter(({ line }) => pattern.test(line)).map(({ body }) => body ?? {});
  }

  ends(id: string): Body[] {
    return this.ended.filter(([job]) => job === id).map(([, end]) => end);
  }

  async oneEnd(id: string): Promise<Body> {
    await until(`an end of ${id}`, () => this.ends(id).length > 0);
    return this.ends(id)[0] as Body;
  }

  // What it answers

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const piece of request) text += String(piece);
    const body = text === "" ? undefined : (JSON.parse(text) as Body);
    const path = (request.url ?? "").slice("/api/v1".length);
    const line = `${request.method} ${path}`;
    this.requests.push({ line, body, headers: request.headers });
    const fault = this.faults.find((one) => one.times > 0 && one.pattern.test(line));
    if (fault) fault.times -= 1;
    if (fault?.how === "cut") return void response.destroy();
    if (fault?.how === "say") return send(response, fault.status ?? 500, fault.body ?? {}, fault.headers);
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return problem(response, 401, "unauthorized");
    const gone = { is: false };
    response.on("close", () => (gone.is = true));
    const [status, answer] = await this.#carryOut(request, path, body ?? {}, gone);
    if (fault?.how === "lose") return void response.destroy();
    if (fault?.how === "half") {
      response.writeHead(200, { "content-length": 1000 });
      response.write('{"jobs"');
      return void setTimeout(() => response.destroy(), 20);
    }
    if (status >= 400) return problem(response, status, String(answer));
    return send(response, status, answer);
  }

  async #carryOut(request: IncomingMessage, path: string, body: Body, gone: { is: boolean }): Promise<[number, unknown]> {
    const parts = (path.split("?")[0] as string).split("/").slice(1);
    if (parts[0] === "jobs") return this.#jobRoute(request, parts.slice(1), body);
    if (parts.length === 2) {
      const lease = Number(body.lease_ms ?? 60_000);
      const node = { id: randomUUID(), lease, expires: Date.now() + lease, wish: null, state: "serving" };
      this.nodes.set(node.id, node);
      return [201, { id: node.id, lease_ms: lease, heartbeat_ms: lease / 3 }];
    }
    const node = this.nodes.get(parts[2] as string);
    if (node === undefined) return [404, "node_lost"];
    if (request.method === "DELETE") {
      this.nodes.delete(node.id);
      for (const job of this.jobs.values()) {
        if (job.node === node.id) Object.assign(job, { state: "queued", node: null, lease: null, rescued: true });
      }
      return [204, ""];
    }
    switch (parts[3]) {
      case "lease":
        return this.#lease(node, body, gone);
      case "heartbeat":
        return this.#heartbeat(node, body, gone);
      case "end":
        return this.#end(node, body);
      default:
        this.said.push(...(body.says as Body[]));
        return [200, { answers: [] }];
    }
  }

  #jobRoute(request: IncomingMessage, parts: string[], body: Body): [number, unknown] {
    if (request.method === "POST" && parts.length === 0) {
      const key = String(request.headers["idempotency-key"] ?? randomUUID());
      const id = this.keys.get(key) ?? this.add(String(body.kind), JSON.stringify(body.payload));
      this.keys.set(key, id);
      return [201, { id, duplicate: false, replaced: false }];
    }
    if (parts[0] === "batch") {
      const results = (body.jobs as Body[]).map((job) => {
        const id = (job.id as string | undefined) ?? randomUUID();
        const duplicate = this.jobs.has(id);
        if (!duplicate) this.add(String(job.kind), "null", { id });
        return { id, duplicate, replaced: false };
      });
      return [201, { results }];
    }
    const job = this.jobs.get(parts[0] as string);
    if (job === undefined) return [404, "not_found"];
    if (parts[1] === "cancel") {
      if (job.state !== "queued") return [409, "refused"];
      job.state = "cancelled";
    }
    return [200, { ...job, priority: 5, max_attempts: 10 }];
  }

  async #lease(node: FakeNode, body: Body, gone: { is: boolean }): Promise<[number, unknown]> {
    const until = Date.now() + Number(body.wait_ms);
    for (;;) {
      if (gone.is || !this.nodes.has(node.id)) return [404, "node_lost"];
      if (this.forgetsHolds > 0 && body.holds.length > 0) {
        this.forgetsHolds -= 1;
        body.holds = [];
      }
      const holds = new Set(body.holds as string[]);
      const lost = [...this.jobs.values()].filter((job) => job.node === node.id && !holds.has(job.id));
      if (lost.length > 0) return [200, leased(lost, node, true)];
      const room = new Map((body.queues as { queue: string; limit: number }[]).map((one) => [one.queue, one.limit]));
      const found: FakeJob[] = [];
      for (const job of this.jobs.values()) {
        const free = room.get(job.queue) ?? 0;
        if (node.wish === null && job.state === "queued" && job.node === null && free > 0 && found.length < body.limit) {
          room.set(job.queue, free - 1);
          found.push(job);
        }
      }
      for (const job of found) {
        this.#leases += 1;
        Object.assign(job, { state: "running", node: node.id, lease: this.#leases, attempt: job.attempt + 1 });
      }
      if (found.length > 0 || node.wish !== null || Date.now() >= until) return [200, leased(found, node, false)];
      await tick();
    }
  }

  async #heartbeat(node: FakeNode, body: Body, gone: { is: boolean }): Promise<[number, unknown]> {
    node.state = String(body.state ?? node.state);
    const [until, wish] = [Date.now() + Number(body.wait_ms), node.wish];
    for (;;) {
      if (!this.nodes.has(node.id)) return [404, "node_lost"];
      const cancel = [...this.jobs.values()].filter((job) => job.node === node.id && job.cancel).map((job) => job.id);
      if (gone.is || cancel.length > 0 || node.wish !== wish || Date.now() >= until) {
        return [200, { cancel, wish: node.wish, lease_ms: node.lease }];
      }
      await tick();
    }
  }

  #end(node: FakeNode, body: Body): [number, unknown] {
    const ends = body.ends as Body[];
    if (ends.some((end) => end.output === "refuse me")) return [422, "invalid"];
    const states: Record<string, string> = { complete: "succeeded", give_back: "queued", cancel: "cancelled" };
    const answers = ends.map((end) => {
      const job = this.jobs.get(String(end.job));
      const run = `${node.id} ${end.lease}`;
      if (job?.was === run) return { job: end.job, state: job.state };
      if (job === undefined || job.node !== node.id || job.lease !== end.lease) {
        this.late.push(end);
        return { job: end.job, lost: true };
      }
      const state = job.cancel ? "cancelled" : (states[String(end.end)] ?? "retrying");
      Object.assign(job, { state, node: null, lease: null, was: run });
      this.ended.push([job.id, end]);
      return { job: end.job, state };
    });
    return [200, { answers }];
  }
}

function leased(jobs: FakeJob[], node: FakeNode, again: boolean): string {
  const texts = jobs.map((job) => {
    const { id, lease, kind, queue, attempt, timeout_ms } = job;
    const rest = { id, lease, kind, queue, attempt, timeout_ms, priority: 5, max_attempts: 10, payload_version: 1 };
    const more = JSON.stringify({ ...rest, run_at: "2026-01-01T00:00:00.25Z", meta: null, traceparent: null, again });
    return `{ "payload" : ${job.payload} , ${more.slice(1)}`;
  });
  return `{"jobs": [${texts.join(", ")}], "wish": ${JSON.stringify(node.wish)}}`;
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

function problem(response: ServerResponse, status: number, code: string): void {
  send(response, status, { status, code, detail: "it cannot be", request_id: "r-1" });
}

function tick(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10));
}

/** Waits until it holds; fails after ten seconds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const giveUp = Date.now() + 10_000;
  while (!(await holds())) {
    if (Date.now() > giveUp) throw new Error(`waited in vain: ${what}`);
    await tick();
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
