// What a worker knows at a moment: its node, its runs, and ends that the server has not confirmed.

import { ofReturn, ofThrow, type End, type Why } from "./outcomes.js";
import { now } from "./patience.js";
import type { Run } from "./run.js";

/** What a worker tells of itself; `console` will do. */
export interface Logger {
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
}

export type Handler = (run: Run) => unknown;

/** One join: from it until the server has lost it, or the worker leaves. */
export class Node {
  lost = false;
  /** When it was first found that the lease may be over; undefined while all is well. */
  staleSince: number | undefined;
  /** Its runs were told so. */
  told = false;

  constructor(
    readonly id: string,
    public lease: number,
    /** When the last heartbeat that was answered was sent: the lease counts from no later. */
    public goodAt: number,
  ) {}

  /** Whether what it holds is certainly its own. Some of the lease is kept for runs to stop in. */
  isFresh(): boolean {
    return !this.lost && now() < this.goodAt + this.lease - Math.min(5000, this.lease / 6);
  }
}

/** A run whose handler has not returned, or whose end the server has not confirmed. */
export class Active {
  /** How it ended is said; whatever the handler does now is dropped. */
  decided = false;
  end: End | undefined;
  /** Its end was sent before, and that was not answered. */
  sent = false;
  /** Its end was refused once, and another is said in its place. */
  mended = false;

  constructor(
    readonly run: Run,
    readonly node: Node,
  ) {}

  get key(): string {
    return `${this.run.id} ${this.run.lease}`;
  }
}

export class Desk {
  node: Node | undefined;
  /** Handlers that have not returned, by queue: a promise cannot be ended, so it keeps its slot. */
  readonly busy = new Map<string, number>();
  readonly running = new Set<Active>();
  /** By job and lease: received, and their end not confirmed; of this node only. */
  readonly held = new Map<string, Active>();
  readonly ends = new Set<Active>();
  quiet = false;
  stopping = false;
  closed = false;
  wishToStop = false;
  failure: unknown;
  /** Queues that the lease call under way asks for, and what cuts it. */
  asked: Set<string> = new Set();
  leaseCut: AbortController | undefined;
  beatCut: AbortController | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(
    readonly slots: ReadonlyMap<string, number>,
    readonly logger: Logger,
  ) {}

  /** Wakes all who wait. */
  changed(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Waits until something has changed, so long at most (ms). */
  next(ms = 2 ** 31 - 1): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.max(0, ms));
      this.#waiting.add(wake);
    });
  }

  /** Waits until it holds, so long at most (ms); whether it does. */
  async until(holds: () => boolean, longest: number): Promise<boolean> {
    const until = now() + longest;
    while (!holds()) {
      const left = until - now();
      if (left <= 0) return false;
      await this.next(left);
    }
    return true;
  }

  get state(): "serving" | "quiet" | "stopping" {
    return this.stopping ? "stopping" : this.quiet ? "quiet" : "serving";
  }

  /** Room, by queue; where there is none the queue is left out. */
  free(): { queue: string; limit: number }[] {
    return [...this.slots]
      .map(([queue, slots]) => ({ queue, limit: slots - (this.busy.get(queue) ?? 0) }))
      .filter(({ limit }) => limit > 0);
  }

  /** A job was received; undefined if it is here already. */
  took(run: Run, node: Node): Active | undefined {
    const active = new Active(run, node);
    if (node !== this.node || this.held.has(active.key)) return undefined;
    this.held.set(active.key, active);
    this.running.add(active);
    this.busy.set(run.queue, (this.busy.get(run.queue) ?? 0) + 1);
    this.changed();
    return active;
  }

  /** Says how a run ended, once; whether this was it. */
  decide(active: Active, end: End): boolean {
    if (active.decided) return false;
    active.decided = true;
    if (active.node.lost) return false;
    active.end = end;
    this.ends.add(active);
    this.changed();
    return true;
  }

  /** Its handler is over, and its slot free. */
  returned(active: Active): void {
    this.running.delete(active);
    const queue = active.run.queue;
    this.busy.set(queue, (this.busy.get(queue) ?? 1) - 1);
    if (!this.asked.has(queue) && !this.stopping) this.leaseCut?.abort();
    this.changed();
  }

  /** The server has its end, or will have none of it. */
  confirmed(active: Active): void {
    this.ends.delete(active);
    if (this.held.get(active.key) === active) this.held.delete(active.key);
    this.changed();
  }

  /** The server does not know the node any more: what it ran may be somebody else's by now. */
  lost(node: Node): void {
    if (node.lost) return;
    node.lost = true;
    if (this.node === node) this.node = undefined;
    const dropped = [...this.held.values()];
    this.held.clear();
    this.ends.clear();
    for (const active of dropped) {
      active.decided = true;
      active.run.stop("lost");
    }
    this.leaseCut?.abort();
    this.beatCut?.abort();
    this.logger.warn(`node ${node.id} is lost: ${dropped.length} jobs are dropped, others may run them`);
    this.changed();
  }

  tellAll(why: Why): void {
    for (const active of this.running) active.run.stop(why);
  }

  /** Ends what has not ended; how many runs that were. */
  giveBackAll(): number {
    return [...this.running].filter((active) => this.decide(active, { end: "give_back" })).length;
  }

  /** Runs of which it is not said how they ended. */
  unfinished(): number {
    return [...this.running].filter((active) => !active.decided).length;
  }

  /** One run, to its end. */
  async work(active: Active, handler: Handler): Promise<void> {
    const { run } = active;
    let end: End;
    try {
      end = ofReturn(await handler(run));
    } catch (error) {
      end = ofThrow(error, run.why !== undefined);
      if (end.end === "fail") {
        const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
        this.logger.warn(`job ${run.id} (${run.kind}) failed in attempt ${run.attempt}: ${words}`);
      }
    }
    if (!this.decide(active, end)) {
      this.logger.warn(`job ${run.id} (${run.kind}) returned after its end (${run.why}); that is dropped`);
    }
    this.returned(active);
  }
}
