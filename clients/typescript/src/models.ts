// Jobs: what is asked for, and what there is.

import type { ApiError } from "./errors.js";
import { raw } from "./json.js";

/** A span of time: milliseconds, or a text such as `"5m"` or `"1h 30m"`. */
export type Span = number | string;

/** When a failed attempt is repeated; spans in milliseconds. */
export type Backoff =
  | { exponential: { base_ms: number; factor: number; max_ms: number } }
  | { polynomial: { base_ms: number; exponent?: number; max_ms: number } }
  | { fixed: { delay_ms: number } }
  | { list: { delays_ms: number[] } };

/** Of a job that is enqueued; what is left out has the server's default. */
export interface Options {
  /** The queue. Default `default`. */
  queue?: string;
  /** 0 runs first, 9 last. Default 5. */
  priority?: number;
  /** When it is due. Default at once. */
  runAt?: Date | string;
  /** Due so long after the enqueue, instead of `runAt`. */
  runIn?: Span;
  /** How often it may run in all. Default 10. */
  maxAttempts?: number;
  /** When a failed attempt is repeated. Default exponential from 1 s, factor 3, at most 1 h. */
  backoff?: Backoff;
  /** How long one attempt may run; `"none"` for ever. Default 1 h. */
  timeout?: Span;
  /** How long it is kept once it succeeded or was cancelled; 0 keeps nothing. Default: the server's rules. */
  retain?: Span;
  /** At most 64. */
  tags?: readonly string[];
  /** Notes of the caller, at most 64 KiB. */
  meta?: Record<string, unknown>;
  /** At most one job of this kind for it, while that is active. */
  uniqueKey?: string;
  /** Holds the key for a fixed window of this length instead. */
  uniqueWithin?: Span;
  /** Holds the key for good, once it succeeded. */
  uniqueForGood?: boolean;
  /** What happens when another job holds the key. Default `keep`. */
  onConflict?: "keep" | "replace" | "refuse";
  /** Its id, a UUID of your own, so that a repeat adds nothing. Default a fresh one. */
  id?: string;
  /** Which version of its payloads this one is. Default 1. */
  payloadVersion?: number;
  /** Top-level fields of the payload that nobody is shown; handlers see them. */
  redacted?: readonly string[];
}

/** Of a single enqueue also: */
export interface EnqueueOptions extends Options {
  /** A key of your own: the same request with it is carried out once within 24 hours. Default a fresh one. */
  idempotencyKey?: string;
  /** W3C trace context; kept with the job. */
  traceparent?: string;
  tracestate?: string;
  /** Gives up when it is aborted. */
  signal?: AbortSignal;
}

/** A job of `enqueueMany`. */
export interface NewJob extends Options {
  /** Picks the handler: 1 to 255 bytes. */
  kind: string;
  /** Any JSON, at most 1 MiB; `RawJson` is kept byte for byte. */
  payload?: unknown;
}

/** As the API has it. */
export function bodyOf(job: NewJob): Record<string, unknown> {
  return {
    kind: job.kind,
    payload: raw(job.payload),
    queue: job.queue,
    priority: job.priority,
    run_at: job.runAt instanceof Date ? job.runAt.toISOString() : job.runAt,
    run_in: span(job.runIn),
    max_attempts: job.maxAttempts,
    backoff: job.backoff === undefined ? undefined : raw(job.backoff),
    timeout: span(job.timeout),
    retain: span(job.retain),
    tags: job.tags,
    meta: job.meta === undefined ? undefined : raw(job.meta),
    unique_key: job.uniqueKey,
    unique_within: span(job.uniqueWithin),
    unique_for_good: job.uniqueForGood,
    on_conflict: job.onConflict,
    id: job.id,
    payload_version: job.payloadVersion,
    redacted: job.redacted,
  };
}

function span(value: Span | undefined): string | undefined {
  return typeof value === "number" ? `${milliseconds(value)}ms` : value;
}

/** Whole milliseconds; 1 at least for what is above 0. */
export function milliseconds(value: number): number {
  if (!(value >= 0 && value < Infinity)) {
    throw new RangeError(`a span of ${value} ms; it may not be negative or endless`);
  }
  return value > 0 ? Math.max(1, Math.round(value)) : 0;
}

/** What became of one job that was enqueued. */
export interface Enqueued {
  /** The job's id; that of the holder, if another job has its unique key. */
  id: string;
  /** It was there already; nothing was added. */
  duplicate: boolean;
  /** It was there already, and has the new payload, time and priority now. */
  replaced: boolean;
}

/** One job of an `enqueueMany` with `partial` that was refused. */
export interface NotAdded {
  /** Why. */
  error: ApiError;
}

/** An attempt that failed. */
export interface Attempt {
  attempt: number;
  /** `error`, `timeout`, `node_lost` and the like. */
  kind: string;
  message: string;
  chain: string[];
}

export type State =
  | "scheduled"
  | "queued"
  | "blocked"
  | "running"
  | "retrying"
  | "succeeded"
  | "dead"
  | "cancelled";

/** A job as it stood when it was asked for. */
export interface Job {
  id: string;
  kind: string;
  queue: string;
  state: State;
  priority: number;
  attempt: number;
  maxAttempts: number;
  /** Without fields that are hidden. Integers beyond 2^53 have lost digits: `text` has them. */
  payload: unknown;
  /** What the handler returned. */
  output: unknown;
  meta: Record<string, unknown> | undefined;
  tags: string[];
  /** The newest failed attempts, oldest first; at most 10. */
  errors: Attempt[];
  runAt: Date | undefined;
  createdAt: Date | undefined;
  finishedAt: Date | undefined;
  /** All that the API tells, as it stands in its reference. */
  raw: Record<string, unknown>;
  /** The same, byte for byte. */
  text: string;
}

/** From the answer. */
export function jobOf(text: string): Job {
  // The API's own shape; its reference is the promise.
  const said = JSON.parse(text) as Record<string, any>;
  const date = (value: unknown): Date | undefined => (typeof value === "string" ? new Date(value) : undefined);
  return {
    id: said.id,
    kind: said.kind,
    queue: said.queue,
    state: said.state,
    priority: said.priority,
    attempt: said.attempt,
    maxAttempts: said.max_attempts,
    payload: said.payload,
    output: said.output,
    meta: said.meta ?? undefined,
    tags: said.tags ?? [],
    errors: (said.errors ?? []).map((one: Attempt) => ({ ...one, chain: one.chain ?? [] })),
    runAt: date(said.run_at),
    createdAt: date(said.created_at),
    finishedAt: date(said.finished_at),
    raw: said,
    text,
  };
}

/** It succeeded, was cancelled or is dead. */
export function hasEnded(job: Job): boolean {
  return job.state === "succeeded" || job.state === "cancelled" || job.state === "dead";
}
