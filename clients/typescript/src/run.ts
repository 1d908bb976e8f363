// One attempt of a job, as its handler sees it.

import { Stopped, cut, type Why } from "./outcomes.js";
import { now, pause } from "./patience.js";

export type Level = "error" | "warn" | "info" | "debug" | "trace";
const LEVELS: readonly string[] = ["error", "warn", "info", "debug", "trace"];
// The server keeps as many of an attempt; older ones give way.
const MAX_LINES = 1000;
const MAX_LINE = 8 * 1024;

interface Line {
  level: Level;
  message: string;
  at?: string;
  fields?: Record<string, unknown>;
}

/** What a run has said, for the server. */
export interface Said {
  job: string;
  lease: number;
  progress?: { fraction: number; text: string };
  first?: number;
  lines?: Line[];
}

/** A job as a lease call answers it. */
export interface Leased {
  id: string;
  lease: number;
  kind: string;
  queue: string;
  priority: number;
  attempt: number;
  max_attempts: number;
  run_at: string;
  timeout_ms: number | null;
  payload_version: number;
  meta: Record<string, unknown> | null;
  traceparent: string | null;
}

/** What a handler is given. */
export class Run<Payload = any> {
  /** The job's id. */
  readonly id: string;
  readonly kind: string;
  readonly queue: string;
  readonly priority: number;
  /** Counts from 1. A handler may run again after it has run to its end, so it must bear that. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly runAt: Date;
  /** The payload, byte for byte as it was enqueued. */
  readonly payloadText: string;
  readonly payloadVersion: number;
  readonly meta: Record<string, unknown> | undefined;
  readonly traceparent: string | undefined;
  /** Aborted when the run is to stop; the reason is a `Stopped`. Hand it to `fetch` and the like. */
  readonly signal: AbortSignal;
  /** How long this attempt may take, in milliseconds. */
  readonly timeout: number | undefined;
  /** When that is over. */
  readonly deadline: Date | undefined;
  /** @internal */
  readonly lease: number;
  /** @internal */
  readonly until: number | undefined;
  readonly #stop = new AbortController();
  readonly #tell: () => void;
  #payload: { is: Payload } | undefined;
  #why: Why | undefined;
  #progress: { fraction: number; text: string } | undefined;
  #lines: Line[] = [];
  #first = 0; // the number of the first line that waits, among all of this run
  #leftOut = 0;

  /** @internal */
  constructor(job: Leased, payloadText: string, tell: () => void) {
    this.id = job.id;
    this.kind = job.kind;
    this.queue = job.queue;
    this.priority = job.priority;
    this.attempt = job.attempt;
    this.maxAttempts = job.max_attempts;
    this.runAt = new Date(job.run_at);
    this.payloadText = payloadText;
    this.payloadVersion = job.payload_version;
    this.meta = job.meta ?? undefined;
    this.traceparent = job.traceparent ?? undefined;
    this.lease = job.lease;
    this.signal = this.#stop.signal;
    this.timeout = job.timeout_ms ?? undefined;
    if (this.timeout !== undefined) {
      this.until = now() + this.timeout;
      this.deadline = new Date(Date.now() + this.timeout);
    }
    this.#tell = tell;
  }

  /** The payload. Integers beyond 2^53 lose digits here: `payloadText` has them. */
  get payload(): Payload {
    // Parsed when it is asked for, so that one that is odd fails its own run alone.
    this.#payload ??= { is: JSON.parse(this.payloadText) as Payload };
    return this.#payload.is;
  }

  /** Why the run is to stop, if it is. */
  get why(): Why | undefined {
    return this.#why;
  }

  /** Milliseconds until the timeout; undefined if there is none. */
  remaining(): number | undefined {
    return this.until === undefined ? undefined : Math.max(0, this.until - now());
  }

  /** Throws `Stopped` if the run is to stop. Call it between steps of long work. */
  check(): void {
    if (this.#why !== undefined) throw new Stopped(this.#why);
  }

  /** Sleeps, and throws `Stopped` as soon as the run is to stop. */
  async sleep(ms: number): Promise<void> {
    await pause(ms, this.signal);
    this.check();
  }

  /** Says how far it is: from 0 to 1, and a word about it. Sent about once a second, the last one only. */
  progress(fraction: number, text = ""): void {
    if (!(fraction >= 0 && fraction <= 1)) throw new RangeError(`progress is ${fraction}; it may be 0 to 1`);
    this.#progress = { fraction, text: cut(String(text), 255) };
    this.#tell();
  }

  /** Adds a line to the log of this attempt. It is kept and shown as it is: no secrets. */
  log(message: string, options: { level?: Level; fields?: Record<string, unknown> } = {}): void {
    const { level = "info", fields } = options;
    if (!LEVELS.includes(level)) throw new RangeError(`\`${level}\` is no level; it may be ${LEVELS.join(", ")}`);
    const line: Line = { level, message: cut(String(message), MAX_LINE), at: new Date().toISOString() };
    if (fields !== undefined) {
      line.fields = Object.fromEntries(Object.entries(fields).map(([name, value]) => [cut(name), field(value)]));
    }
    this.#lines.push(line);
    if (this.#lines.length > MAX_LINES) {
      // The oldest one gives way to a word about it, which counts those that follow.
      this.#leftOut += 1;
      this.#lines.shift();
      this.#first += 1;
      this.#lines[0] = { level: "warn", message: `… ${this.#leftOut + 1} lines left out` };
    }
    this.#tell();
  }

  /** Tells the handler, once. @internal */
  stop(why: Why): void {
    if (this.#why !== undefined && why !== "lost") return;
    this.#why = why;
    this.#stop.abort(new Stopped(why));
  }

  /** What it said and the server has not taken yet, of it so many lines. @internal */
  offer(most: number): Said | undefined {
    const said: Said = { job: this.id, lease: this.lease };
    if (this.#progress !== undefined) said.progress = this.#progress;
    if (this.#lines.length > 0) {
      said.first = this.#first;
      said.lines = this.#lines.slice(0, most);
    }
    return said.progress === undefined && said.lines === undefined ? undefined : said;
  }

  /** The server has it, or will not have it. @internal */
  taken(said: Said): void {
    if (this.#progress === said.progress) this.#progress = undefined;
    const gone = Math.max(0, (said.first ?? 0) + (said.lines?.length ?? 0) - this.#first);
    this.#first += this.#lines.splice(0, gone).length;
  }
}

function field(value: unknown): unknown {
  try {
    return JSON.stringify(value) === undefined ? String(value) : value;
  } catch {
    return cut(String(value), MAX_LINE);
  }
}
