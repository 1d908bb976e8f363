// Puts jobs in and answers questions about them.

import { randomBytes, randomUUID } from "node:crypto";

import { LongshoreError, NotEnded, Refused, Unavailable, problem } from "./errors.js";
import { raw, write } from "./json.js";
import type { Enqueued, EnqueueOptions, Job, NewJob, NotAdded } from "./models.js";
import { bodyOf, hasEnded, jobOf, milliseconds } from "./models.js";
import { Patience, pause } from "./patience.js";

// One batch, by the server's limits: 1,000 jobs in 16 MiB.
const BATCH_JOBS = 1000;
const BATCH_BYTES = 8 << 20;
// How long one request waits for the end of a job; the server would take up to 60 s.
const ONE_WAIT = 25_000;
const LATER = [429, 502, 503, 504];

export interface ClientOptions {
  /** How long a request is repeated while the server is away or says "later", in milliseconds. Default 30,000. */
  retryFor?: number;
  /** How long one request may take, in milliseconds. Default 60,000. */
  timeout?: number;
}

interface Ask {
  body?: string;
  headers?: Record<string, string>;
  timeout?: number;
  signal?: AbortSignal | undefined;
  /** Called with what went wrong before the answer. */
  lost?: (error: Unavailable) => void;
}

/**
 * A server of Longshore.
 *
 * `url` is `http://host:port` or `https://host`; `token` is what `longshore token create` printed, and is shown nowhere. A
 * request that fails because the server is away, busy or stopping is repeated with growing pauses, and as its
 * `Retry-After` says; then it throws `Unavailable`. A repeat adds no job twice.
 */
export class Client {
  readonly url: string;
  readonly #token: string;
  readonly #retryFor: number;
  readonly #timeout: number;

  constructor(url: string, token = "", options: ClientOptions = {}) {
    // Not the URL itself in these words: it may hold a password.
    let parsed: URL;
    try {
      parsed = new URL(url);
    } catch {
      throw new TypeError("the URL of the server is `http://host:port` or `https://host`");
    }
    if (!["http:", "https:"].includes(parsed.protocol)) {
      throw new TypeError("the URL of the server is `http://host:port` or `https://host`");
    }
    if (parsed.username || parsed.password) {
      throw new TypeError("the URL of the server may hold no name and no password: give the token by itself");
    }
    if (parsed.search || parsed.hash) throw new TypeError("the URL of the server has no `?` and no `#`");
    if (!/^[!-~]*$/.test(token)) throw new TypeError("the token has a character that no token has, such as a line break");
    this.url = `${parsed.origin}${parsed.pathname.replace(/\/+$/, "")}`;
    this.#token = token;
    this.#retryFor = options.retryFor ?? 30_000;
    this.#timeout = options.timeout ?? 60_000;
  }

  /**
   * Adds a job. Each call has a key of its own, so that a repeat after a lost answer adds nothing; with an `idempotencyKey`
   * of yours that holds for 24 hours and across processes.
   */
  async enqueue(kind: string, payload?: unknown, options: EnqueueOptions = {}): Promise<Enqueued> {
    const { idempotencyKey, traceparent, tracestate, signal, ...rest } = options;
    const headers: Record<string, string> = { "idempotency-key": idempotencyKey ?? randomUUID() };
    if (traceparent !== undefined) headers.traceparent = traceparent;
    if (tracestate !== undefined) headers.tracestate = tracestate;
    const body = write(bodyOf({ ...rest, kind, payload }));
    return JSON.parse(await this.ask("POST", "/jobs", { body, headers, signal })) as Enqueued;
  }

  /**
   * Adds many jobs, and answers for each, in order. Up to 1,000 jobs and 8 MiB are added together: all or none, or with
   * `partial` all that are good, the others answered as `NotAdded`. More go in parts, one after the other; an error then
   * leaves the parts before it added.
   */
  enqueueMany(jobs: Iterable<NewJob>, options?: { partial?: false; signal?: AbortSignal }): Promise<Enqueued[]>;
  enqueueMany(
    jobs: Iterable<NewJob>,
    options: { partial: boolean; signal?: AbortSignal },
  ): Promise<(Enqueued | NotAdded)[]>;
  async enqueueMany(
    jobs: Iterable<NewJob>,
    options: { partial?: boolean; signal?: AbortSignal } = {},
  ): Promise<(Enqueued | NotAdded)[]> {
    const { partial = false, signal } = options;
    const answers: (Enqueued | NotAdded)[] = [];
    for (const part of parts(jobs, partial)) {
      const body = `{"jobs":[${part.map(([text]) => text).join(",")}]${partial ? ',"partial":true' : ""}}`;
      // The server keeps no keys of partial batches. There each job has an id instead, made here.
      const headers: Record<string, string> = partial ? {} : { "idempotency-key": randomUUID() };
      const said = JSON.parse(await this.ask("POST", "/jobs/batch", { body, headers, signal })) as {
        results: (Enqueued & { problem?: { status?: number } })[];
      };
      said.results.forEach((one, index) => {
        if (one.problem !== undefined) {
          answers.push({ error: problem(one.problem.status ?? 422, one.problem, "the job was refused") });
        } else {
          answers.push(one.id === part[index]?.[1] ? { ...one, duplicate: false } : one);
        }
      });
    }
    return answers;
  }

  /** The job, whole but for what is hidden. Throws `NotFound`. */
  async get(id: string, options: { signal?: AbortSignal } = {}): Promise<Job> {
    return jobOf(await this.ask("GET", `/jobs/${encodeURIComponent(id)}`, options));
  }

  /** Waits until the job ended: succeeded, cancelled or dead. Throws `NotEnded` when the time (ms) is over. */
  async wait(id: string, options: { timeout?: number; signal?: AbortSignal } = {}): Promise<Job> {
    const until = performance.now() + (options.timeout ?? Infinity);
    const longest = Math.min(ONE_WAIT, this.#timeout / 2);
    for (;;) {
      const left = Math.max(1, Math.round(Math.min(longest, until - performance.now())));
      const path = `/jobs/${encodeURIComponent(id)}/wait?timeout=${left}ms`;
      const job = jobOf(await this.ask("GET", path, { signal: options.signal }));
      if (hasEnded(job)) return job;
      if (performance.now() >= until) throw new NotEnded(job);
    }
  }

  /** Cancels a job: at once while it waits; a running one is asked to stop. `Refused` if it has ended. */
  async cancel(id: string, options: { why?: string; signal?: AbortSignal } = {}): Promise<Job> {
    return this.#act(id, "cancel", { why: options.why }, ["cancelled"], options.signal);
  }

  /**
   * Retries a job that is dead, cancelled, scheduled or retrying: it is due at once. `attempts`: how many it has left at
   * least, default 1. With a `payload`, both change or neither.
   */
  async retry(
    id: string,
    options: { attempts?: number; payload?: unknown; payloadVersion?: number; signal?: AbortSignal } = {},
  ): Promise<Job> {
    const body = {
      attempts: options.attempts,
      payload: "payload" in options ? raw(options.payload) : undefined,
      payload_version: options.payloadVersion,
    };
    return this.#act(id, "retry", body, ["queued", "running", "succeeded"], options.signal);
  }

  async #act(id: string, action: string, body: unknown, done: string[], signal?: AbortSignal): Promise<Job> {
    let lost = false;
    const ask: Ask = { body: write(body), signal, lost: () => (lost = true) };
    try {
      return jobOf(await this.ask("POST", `/jobs/${encodeURIComponent(id)}/${action}`, ask));
    } catch (error) {
      // If an answer was lost, it is refused perhaps because it is done.
      if (lost && error instanceof Refused) {
        const job = await this.get(id);
        if (done.includes(job.state)) return job;
      }
      throw error;
    }
  }

  /** Any other request to the API, below `/api/v1`, repeated as all are; only for what may be repeated. */
  async ask(method: string, path: string, ask: Ask = {}): Promise<string> {
    const patience = new Patience();
    const until = performance.now() + this.#retryFor;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.askOnce(method, path, ask);
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        ask.lost?.(error);
        const wait = patience.next(error.retryAfter);
        if (performance.now() + wait > until) {
          const text = `${error.message}; gave up after ${tries} tries in ${this.#retryFor} ms`;
          throw new Unavailable(text, error.retryAfter, error);
        }
        await pause(wait, ask.signal);
        ask.signal?.throwIfAborted();
      }
    }
  }

  /** One request, not repeated. Throws `Unavailable` for what may work later, `ApiError` for the rest. */
  async askOnce(method: string, path: string, ask: Ask = {}): Promise<string> {
    ask.signal?.throwIfAborted();
    const headers: Record<string, string> = { accept: "application/json", ...ask.headers };
    headers["user-agent"] = "longshore-client-typescript";
    if (this.#token) headers.authorization = `Bearer ${this.#token}`;
    if (ask.body !== undefined) headers["content-type"] = "application/json";
    // `AbortSignal.any` is not in Node 18.
    const cut = new AbortController();
    const given = (): void => cut.abort();
    ask.signal?.addEventListener("abort", given, { once: true });
    const limit = ask.timeout ?? this.#timeout;
    const timer = setTimeout(() => cut.abort(), limit);
    try {
      const answer = await fetch(`${this.url}/api/v1${path}`, {
        method,
        headers,
        body: ask.body ?? null,
        redirect: "manual", // the token is for this server alone
        signal: cut.signal,
      });
      const text = await answer.text();
      if (answer.ok) return text;
      throw this.#failed(answer, text);
    } catch (error) {
      if (error instanceof LongshoreError) throw error;
      ask.signal?.throwIfAborted();
      const why = cut.signal.aborted ? `it did not answer within ${limit} ms` : reason(error);
      throw new Unavailable(`could not reach ${this.url}: ${why}`);
    } finally {
      clearTimeout(timer);
      ask.signal?.removeEventListener("abort", given);
    }
  }

  #failed(answer: Response, text: string): LongshoreError {
    let said: unknown;
    try {
      said = JSON.parse(text);
    } catch {
      said = undefined;
    }
    const error = problem(answer.status, said, `${this.url} answered with status ${answer.status}`);
    if (!LATER.includes(answer.status) && error.code !== "in_progress") return error;
    const header = answer.headers.get("retry-after");
    const seconds = header === null ? NaN : Number(header);
    const wait = seconds >= 0 ? milliseconds(Math.min(seconds, 1e9) * 1000) : undefined;
    return new Unavailable(`${this.url} said later: ${error.message}`, wait, error);
  }
}

/** Why `fetch` failed. Never the request itself: its headers have the token. */
function reason(error: unknown): string {
  if (!(error instanceof TypeError)) throw error;
  const cause = error.cause as { code?: string; message?: string } | undefined;
  // Without a cause it is a mistake of ours, such as a header that is none.
  if (cause === undefined) throw error;
  if (cause.code === "ECONNREFUSED") return "nobody listens there";
  return cause.message || cause.code || "the connection broke";
}

/** An id that begins with the time, as the server's own do: they lie together in its indexes. */
function uuid7(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = 0x70 | ((bytes[6] as number) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Jobs as texts, as many as go together, each with the id that was made for it. */
function* parts(jobs: Iterable<NewJob>, ownIds: boolean): Generator<[string, string | undefined][]> {
  let part: [string, string | undefined][] = [];
  let size = 0;
  for (const job of jobs) {
    const own = ownIds && job.id === undefined ? uuid7() : undefined;
    const text = write(bodyOf(own === undefined ? job : { ...job, id: own }));
    const length = Buffer.byteLength(text);
    if (part.length > 0 && (part.length === BATCH_JOBS || size + length > BATCH_BYTES)) {
      yield part;
      [part, size] = [[], 0];
    }
    part.push([text, own]);
    size += length;
  }
  if (part.length > 0) yield part;
}
