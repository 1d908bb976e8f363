// How long to wait before asking again, and a clock that goes on while the machine sleeps.

const FIRST = 100;

/** Doubling pauses with jitter, never shorter than what the server asked for. In milliseconds. */
export class Patience {
  #tried = 0;

  constructor(readonly longest = 5000) {}

  next(retryAfter?: number): number {
    const pause = Math.min(this.longest, FIRST * 2 ** Math.min(this.#tried, 20)) * (0.5 + Math.random() / 2);
    this.#tried += 1;
    if (retryAfter === undefined) return pause;
    // All who were told the same would come in the same moment.
    return Math.max(pause, Math.min(retryAfter, 60_000) * (1 + Math.random() / 5));
  }

  /** It worked: the next pause is short again. */
  reset(): void {
    this.#tried = 0;
  }
}

let lastSteady = performance.now();
let lastWall = Date.now();
let slept = 0;

/**
 * Milliseconds of a clock that never goes back and counts sleep. Node's own steady clock stops while the machine sleeps on
 * some systems; then the clock on the wall has gone ahead of it. (So it has when somebody set it; a heartbeat tells.)
 */
export function now(): number {
  const [steady, wall] = [performance.now(), Date.now()];
  const ahead = wall - lastWall - (steady - lastSteady);
  if (ahead > 1000) slept += ahead;
  lastSteady = steady;
  lastWall = wall;
  return steady + slept;
}

/** Waits; less if the signal says so, without an error. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(ms, 2 ** 31 - 1));
    signal?.addEventListener("abort", done, { once: true });
  });
}
