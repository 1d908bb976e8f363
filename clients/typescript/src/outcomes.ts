// How a handler says that a run ended otherwise than well or badly: returned or thrown.

import { dumps, trusted, type RawJson } from "./json.js";
import { milliseconds } from "./models.js";

// What is longer is kept as a marker, as in a worker written in Rust.
const MAX_OUTPUT_BYTES = 1 << 20;
const MAX_MESSAGE = 4096;
const MAX_CHAIN = 10;

/** As the server reads it. */
export interface End {
  end: "complete" | "fail" | "snooze" | "throttle" | "cancel" | "give_back";
  output?: RawJson | Record<string, unknown>;
  error?: { message: string; chain?: string[] };
  retry_in_ms?: number;
  dead?: boolean;
  delay_ms?: number;
  reason?: string;
}

/** One of those below. */
export abstract class Outcome extends Error {
  override name = "Outcome";
  /** As the server reads it. */
  abstract end(): End;
}

/** Run again after `delay` milliseconds; the attempt does not count. */
export class Snooze extends Outcome {
  override name = "Snooze";
  readonly #delay: number;

  constructor(delay: number) {
    super(`snoozed for ${delay} ms`);
    this.#delay = milliseconds(delay);
  }

  override end(): End {
    return { end: "snooze", delay_ms: this.#delay };
  }
}

/** Somebody said "later": run again after `delay` milliseconds; the attempt does not count, but not endlessly often. */
export class Throttle extends Outcome {
  override name = "Throttle";
  readonly #delay: number;

  constructor(delay: number) {
    super(`throttled for ${delay} ms`);
    this.#delay = milliseconds(delay);
  }

  override end(): End {
    return { end: "throttle", delay_ms: this.#delay };
  }
}

/** Stop for good; the job counts as cancelled, not as dead. */
export class Cancel extends Outcome {
  override name = "Cancel";

  override end(): End {
    return { end: "cancel", reason: this.message };
  }
}

/** It will never work: the job is dead at once. */
export class Dead extends Outcome {
  override name = "Dead";

  override end(): End {
    return { end: "fail", error: said(this, this.message), dead: true };
  }
}

/** The attempt failed; the next, if one is left, comes after `delay` milliseconds and not by the job's backoff. */
export class RetryIn extends Outcome {
  override name = "RetryIn";
  readonly #delay: number;

  constructor(delay: number, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.#delay = milliseconds(delay);
  }

  override end(): End {
    return { end: "fail", error: said(this, this.message), retry_in_ms: this.#delay };
  }
}

/** Why a run is to stop: `lost` means that the job may be somebody else's by now. */
export type Why = "cancel" | "timeout" | "stop" | "lost";

/**
 * Broken off since the run was told to stop: the job waits again as before, and the attempt does not count. `run.check()`
 * throws it, and it is the reason of `run.signal`.
 */
export class Stopped extends Outcome {
  override name = "Stopped";

  constructor(readonly why?: Why) {
    super(`the run was told to stop${why === undefined ? "" : `: ${why}`}`);
  }

  override end(): End {
    return { end: "give_back" };
  }
}

/** The end of a run whose handler returned this. */
export function ofReturn(value: unknown): End {
  if (value instanceof Outcome) return value.end();
  if (value === undefined || value === null) return { end: "complete" };
  let text: string;
  try {
    text = dumps(value);
  } catch (error) {
    return { end: "complete", output: dropped(String(error), 0) };
  }
  const size = Buffer.byteLength(text);
  if (size > MAX_OUTPUT_BYTES) {
    return { end: "complete", output: dropped(`larger than ${MAX_OUTPUT_BYTES} bytes`, size) };
  }
  return { end: "complete", output: trusted(text) };
}

/** The end of a run whose handler threw this; `told`: it had been told to stop. */
export function ofThrow(error: unknown, told: boolean): End {
  if (error instanceof Stopped && !told) return new Snooze(1000).end();
  if (error instanceof Outcome) return error.end();
  // What was broken off by `run.signal`: `fetch` and the like throw an error of their own.
  if (told && error instanceof Error && error.name === "AbortError") return { end: "give_back" };
  return { end: "fail", error: said(error, words(error)) };
}

/** The end of a run that failed for a reason of ours. */
export function failed(message: string): End {
  return { end: "fail", error: { message } };
}

function said(error: unknown, message: string): { message: string; chain?: string[] } {
  const chain: string[] = [];
  let cause = error instanceof Error ? error.cause : undefined;
  while (cause !== undefined && cause !== null && chain.length < MAX_CHAIN) {
    chain.push(words(cause));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return { message: cut(message) || "failed without a word", ...(chain.length > 0 && { chain }) };
}

function words(error: unknown): string {
  try {
    if (error instanceof Error) return cut(error.message ? `${error.name}: ${error.message}` : error.name);
    return cut(typeof error === "string" ? error : (JSON.stringify(error) ?? String(error)));
  } catch {
    return "its text cannot be had";
  }
}

/** Not too long, and without half surrogates, which are none of UTF-8. */
export function cut(text: string, most = MAX_MESSAGE): string {
  const short = text.length <= most ? text : `${text.slice(0, most - 1)}…`;
  return short.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}

function dropped(reason: string, size: number): Record<string, unknown> {
  return { longshore: "output dropped", reason: cut(reason), size_bytes: size };
}
