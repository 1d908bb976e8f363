// The loop that hands in how runs ended and what they say: what has gathered goes out together.

import type { Active, Desk, Node } from "./desk.js";
import { ApiError, Invalid, NodeLost, Unavailable } from "./errors.js";
import { trusted, write, type RawJson } from "./json.js";
import { said } from "./lease.js";
import { failed } from "./outcomes.js";
import { Patience, now } from "./patience.js";
import type { Run, Said } from "./run.js";
import type { Wire } from "./wire.js";

// Of one request. Bodies may have 2 MiB; one end alone fits with the largest output.
const MOST = 100;
const BYTES = 1 << 20;
// Lines of one run in one request; the server takes 1,000 in all. How often a run is asked for all it keeps, and heard.
const LINES = 250;
const MOST_SAYS = 4;
const OFFERS = 5;
const EVERY = 1000;

export class Reporter {
  readonly #patience = new Patience();
  #saidAt = -EVERY;
  #news = false;

  constructor(
    readonly desk: Desk,
    readonly wire: Wire,
  ) {}

  /** A run has said something. */
  readonly tell = (): void => {
    if (this.#news) return;
    this.#news = true;
    this.desk.changed();
  };

  /** Until the worker has left. Ends are repeated until they are answered; words of runs give way. */
  async loop(): Promise<void> {
    const { desk } = this;
    while (!desk.closed) {
      const { node } = desk;
      const due = this.#due(node);
      if (node === undefined || due > 0) {
        await desk.next(due);
        continue;
      }
      try {
        await this.#round(node);
        this.#patience.reset();
      } catch (error) {
        if (error instanceof NodeLost) {
          desk.lost(node);
          continue;
        }
        const wait = this.#patience.next(error instanceof Unavailable ? error.retryAfter : undefined);
        desk.logger.warn(`ends of runs wait: ${said(error)}; again in ${(wait / 1000).toFixed(1)} s`);
        await desk.until(() => desk.closed || desk.node !== node, wait);
      }
    }
  }

  /** Milliseconds until there is something to do. Nothing is while the lease may be over: the heartbeat comes first. */
  #due(node: Node | undefined): number {
    if (node === undefined || !node.isFresh()) return 1000;
    if (this.desk.ends.size > 0) return 0;
    return this.#news ? Math.max(0, this.#saidAt + EVERY - now()) : 1000;
  }

  async #round(node: Node): Promise<void> {
    const batch = this.#batch(node);
    await this.#say(node, batch);
    if (batch.length > 0) await this.#end(node, batch);
  }

  /** The next ends; they stay where they are until they are answered. */
  #batch(node: Node): [Active, RawJson][] {
    const batch = new Map<string, [Active, RawJson]>();
    let size = 0;
    for (const active of this.desk.ends) {
      // A job once: it may have ended, come back and ended again while the first of these ends was not answered.
      if (active.node !== node || batch.has(active.run.id)) continue;
      const text = write({ job: active.run.id, lease: active.run.lease, ...active.end });
      size += Buffer.byteLength(text);
      if (batch.size === MOST || (batch.size > 0 && size > BYTES)) break;
      batch.set(active.run.id, [active, trusted(text)]);
    }
    return [...batch.values()];
  }

  /** Last words of runs that end, before their ends; and now and then those of the others. */
  async #say(node: Node, batch: [Active, RawJson][]): Promise<void> {
    const runs = batch.map(([active]) => active.run);
    if (this.#news && now() >= this.#saidAt + EVERY) {
      this.#news = false;
      this.#saidAt = now();
      for (const active of this.desk.running) {
        if (active.node === node && !active.decided) runs.push(active.run);
      }
    }
    // So often each is asked at most: one that never stops speaking must not hold up the ends of others.
    const asked = new Map<Run, number>();
    for (;;) {
      const offers: [Run, Said][] = [];
      let size = 0;
      for (const run of runs) {
        const times = asked.get(run) ?? 0;
        const offer = times < OFFERS && offers.length < MOST_SAYS ? run.offer(LINES) : undefined;
        if (offer === undefined) continue;
        size += Buffer.byteLength(write(offer));
        if (offers.length > 0 && size > BYTES) break;
        asked.set(run, times + 1);
        offers.push([run, offer]);
      }
      if (offers.length === 0) return;
      try {
        await this.wire.say(
          node.id,
          offers.map(([, offer]) => offer),
        );
      } catch (error) {
        if (error instanceof NodeLost || !(error instanceof ApiError)) throw error;
        // Ends do not wait for words that cannot be had.
        this.desk.logger.warn(`words of ${offers.length} runs are lost: ${error.message}`);
      }
      for (const [run, offer] of offers) run.taken(offer);
    }
  }

  async #end(node: Node, batch: [Active, RawJson][]): Promise<void> {
    let answers;
    try {
      answers = await this.wire.end(
        node.id,
        batch.map(([, text]) => text),
      );
    } catch (error) {
      if (error instanceof Invalid) return this.#mend(node, batch, error);
      for (const [active] of batch) active.sent = true;
      throw error;
    }
    batch.forEach(([active], n) => {
      if (answers[n]?.lost && active.sent) {
        this.desk.logger.info(`the end of job ${active.run.id} was written before, or came too late`);
      } else if (answers[n]?.lost) {
        this.desk.logger.warn(`the end of job ${active.run.id} came too late: it is somebody else's by now`);
      }
      this.desk.confirmed(active);
    });
  }

  /** The server will not take one of these ends. Alone, the bad one is found; its run has failed then. */
  async #mend(node: Node, batch: [Active, RawJson][], error: ApiError): Promise<void> {
    if (batch.length > 1) {
      for (const one of batch) await this.#end(node, [one]);
      return;
    }
    const active = (batch[0] as [Active, RawJson])[0];
    if (active.mended) {
      this.desk.logger.error(`job ${active.run.id}: nothing that was said of its end was taken: ${error.message}`);
      this.desk.confirmed(active);
      return;
    }
    this.desk.logger.error(`job ${active.run.id}: how it ended was refused, so it failed: ${error.message}`);
    active.mended = true;
    active.end = failed(`the server refused how the run ended: ${error.detail}`);
  }
}
