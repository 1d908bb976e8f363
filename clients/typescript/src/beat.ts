// The loops that keep a node alive: heartbeats, which bring cancels, and the clock of timeouts.

import type { Desk, Node } from "./desk.js";
import { NodeLost, Unavailable } from "./errors.js";
import { said } from "./lease.js";
import { failed } from "./outcomes.js";
import { Patience, now } from "./patience.js";
import type { Wire } from "./wire.js";

// The server answers at once while a cancel is open, so there is a pause after each answer.
const LEAST = 400;
// So long a heartbeat that was late may take until runs are told: the machine may just have woken up.
const LAST_CHANCE = 1000;

export class Heart {
  readonly #patience = new Patience(2000);

  constructor(
    readonly desk: Desk,
    readonly wire: Wire,
    readonly longest: number,
  ) {}

  /** Until the worker has left. */
  async loop(): Promise<void> {
    const { desk } = this;
    for (;;) {
      while (!desk.closed && desk.node === undefined) await desk.next();
      const { node } = desk;
      if (desk.closed || node === undefined) return;
      let wait = LEAST;
      try {
        await this.#beat(node);
        this.#patience.reset();
      } catch (error) {
        if (error instanceof NodeLost) {
          desk.lost(node);
          continue;
        }
        wait = this.#patience.next(error instanceof Unavailable ? error.retryAfter : undefined);
        if (!desk.beatCut?.signal.aborted) {
          desk.logger.warn(`no heartbeat: ${said(error)}; again in ${(wait / 1000).toFixed(1)} s`);
        }
      }
      await desk.until(() => desk.closed, wait);
    }
  }

  async #beat(node: Node): Promise<void> {
    const { desk } = this;
    const cut = (desk.beatCut = new AbortController());
    // After a silence it must know at once where it stands; and one that stops hears of no long wait.
    const wait = node.isFresh() && !desk.stopping ? Math.round(Math.min(node.lease / 3, this.longest)) : 0;
    const sentAt = now();
    const answer = await this.wire.beat(node.id, desk.state, wait, cut.signal);
    node.goodAt = sentAt;
    node.lease = answer.lease_ms;
    node.staleSince = undefined;
    node.told = false;
    desk.quiet = answer.wish === "quiet";
    desk.wishToStop ||= answer.wish === "stop";
    const asked = new Set(answer.cancel);
    for (const active of desk.running) {
      if (active.node === node && asked.has(active.run.id)) active.run.stop("cancel");
    }
    desk.changed();
  }
}

/** Looks at the clock: runs that take too long, and a lease that nobody has renewed. Until the worker has left. */
export async function watch(desk: Desk): Promise<void> {
  while (!desk.closed) {
    let wait = 1000;
    for (const active of desk.running) {
      const { run } = active;
      if (run.until === undefined || active.decided) continue;
      const left = run.until - now();
      if (left > 0) {
        wait = Math.min(wait, left);
        continue;
      }
      const limit = shown(run.timeout ?? 0);
      desk.decide(active, failed(`ran longer than its timeout of ${limit}`));
      run.stop("timeout");
      desk.logger.warn(`job ${run.id} (${run.kind}) is over its timeout of ${limit}; told to stop`);
    }
    wait = Math.min(wait, stale(desk));
    await desk.next(wait);
  }
}

/** Milliseconds until the next look. */
function stale(desk: Desk): number {
  const { node } = desk;
  if (node === undefined || node.told || node.isFresh()) return Infinity;
  if (node.staleSince === undefined) {
    node.staleSince = now();
    // The one under way may wait at a server that is gone.
    desk.beatCut?.abort();
  }
  const left = node.staleSince + LAST_CHANCE - now();
  if (left > 0) return left;
  node.told = true;
  const runs = [...desk.running].filter((active) => active.node === node);
  desk.logger.warn(`no heartbeat was answered in time: ${runs.length} runs are told to stop`);
  for (const active of runs) active.run.stop("lost");
  return Infinity;
}

/** `500ms`, `1.5s`, as everywhere in Longshore. */
export function shown(ms: number): string {
  return ms < 1000 ? `${ms}ms` : `${Math.round(ms) / 1000}s`;
}
