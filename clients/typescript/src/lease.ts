// The loop that joins and leases: one call at a time, which waits at the server for jobs.

import { Node, type Active, type Desk, type Handler } from "./desk.js";
import { ApiError, NodeLost, Unavailable } from "./errors.js";
import { failed, type End } from "./outcomes.js";
import { Patience, now } from "./patience.js";
import { Run, type Leased } from "./run.js";
import type { Wire } from "./wire.js";

// Jobs of one answer; the server's own limit.
const MOST = 100;

export class Leaser {
  readonly #patience = new Patience();
  #unsure = false;
  #joinedOnce = false;

  constructor(
    readonly desk: Desk,
    readonly wire: Wire,
    readonly joinBody: unknown,
    readonly handlers: ReadonlyMap<string, Handler>,
    readonly wait: number,
    readonly tell: () => void,
  ) {}

  /** Until the worker stops. */
  async loop(): Promise<void> {
    while (!this.desk.stopping) {
      try {
        await this.#round();
        this.#patience.reset();
      } catch (error) {
        if (error instanceof NodeLost) continue; // the desk knows
        if (error instanceof ApiError && !this.#joinedOnce) {
          // A wrong token or a bad name of a queue: no later try will help.
          this.desk.logger.error(`the server does not take this worker: ${error.message}`);
          this.desk.failure = error;
          this.desk.changed();
          return;
        }
        await this.#rest(error);
      }
    }
  }

  async #rest(error: unknown): Promise<void> {
    const wait = this.#patience.next(error instanceof Unavailable ? error.retryAfter : undefined);
    if (this.desk.stopping) return;
    this.desk.logger.warn(`no jobs for now: ${said(error)}; again in ${(wait / 1000).toFixed(1)} s`);
    await this.desk.until(() => this.desk.stopping, wait);
  }

  async #round(): Promise<void> {
    const { node } = this.desk;
    if (node === undefined) return this.#join();
    const queues = await this.#room(node);
    if (queues !== undefined) await this.#lease(node, queues, this.wait);
  }

  async #join(): Promise<void> {
    const sentAt = now();
    const said = await this.wire.join(this.joinBody);
    this.#joinedOnce = true;
    this.desk.node = new Node(said.id, said.lease_ms, sentAt);
    this.desk.quiet = false;
    this.desk.logger.info(`joined as node ${said.id}`);
    this.desk.changed();
  }

  /** Waits until there is something to ask for; undefined if things have changed meanwhile. */
  async #room(node: Node): Promise<{ queue: string; limit: number }[] | undefined> {
    const { desk } = this;
    while (!desk.stopping && desk.node === node) {
      const free = desk.free();
      if (free.length > 0 && !desk.quiet && node.isFresh()) return free;
      await desk.next(1000);
    }
    return undefined;
  }

  async #lease(node: Node, queues: { queue: string; limit: number }[], wait: number): Promise<void> {
    const { desk } = this;
    const cut = (desk.leaseCut = new AbortController());
    desk.asked = new Set(queues.map(({ queue }) => queue));
    const limit = Math.min(
      MOST,
      queues.reduce((sum, one) => sum + one.limit, 0),
    );
    const holds = [...new Set([...desk.held.values()].map((active) => active.run.id))];
    let answer;
    try {
      answer = await this.wire.lease(node.id, { queues, limit, holds, wait_ms: wait }, cut.signal);
    } catch (error) {
      if (error instanceof NodeLost) desk.lost(node);
      if (error instanceof ApiError) throw error;
      // Jobs may be ours that we never heard of; the next call tells.
      this.#unsure = true;
      if (cut.signal.aborted) return;
      throw error;
    } finally {
      desk.leaseCut = undefined;
      desk.asked = new Set();
    }
    this.#unsure = false;
    desk.quiet = answer.wish === "quiet";
    desk.wishToStop ||= answer.wish === "stop";
    desk.changed();
    for (const [job, payload] of answer.jobs) this.#start(node, job, payload);
  }

  #start(node: Node, job: Leased, payload: string): void {
    const { desk } = this;
    const active = desk.took(new Run(job, payload, this.tell), node);
    if (active === undefined) return;
    const handler = this.handlers.get(job.kind);
    if (handler === undefined) return this.#notRun(active, failed(`no handler for ${job.kind}`));
    if (desk.stopping) return this.#notRun(active, { end: "give_back" });
    void desk.work(active, handler);
  }

  #notRun(active: Active, end: End): void {
    this.desk.decide(active, end);
    this.desk.returned(active);
  }

  /** What came with an answer that was cut is given back, so that no attempt of it counts. After the loop. */
  async lastLook(): Promise<void> {
    const { node, slots } = this.desk;
    if (node === undefined || !this.#unsure || !node.isFresh()) return;
    const queues = [...slots.keys()].map((queue) => ({ queue, limit: 1 }));
    try {
      await this.#lease(node, queues, 0);
    } catch (error) {
      this.desk.logger.info(`what is still held is given away when the node leaves: ${said(error)}`);
    }
  }
}

/** An error in a few words. */
export function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
