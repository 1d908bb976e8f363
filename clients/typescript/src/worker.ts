// A worker: a node of Longshore that runs jobs in this process.

import { Heart, watch } from "./beat.js";
import type { Client } from "./client.js";
import { Desk, type Handler, type Logger } from "./desk.js";
import { Leaser, said } from "./lease.js";
import { milliseconds } from "./models.js";
import { pause } from "./patience.js";
import { Reporter } from "./report.js";
import type { Run } from "./run.js";
import { Wire } from "./wire.js";

// How long runs that are told to stop may take to return, before they are given back all the same.
const SETTLE = 2000;
const SETTLE_IN_HASTE = 300;
// How long the last ends may take to be handed in.
const FLUSH = 10_000;

export interface WorkerOptions {
  /** Queues and their slots: how many of its jobs run at a time. Default `{ default: 4 }`. */
  queues?: Record<string, number>;
  /** For people; need not be unique. */
  name?: string;
  /** The program's version, for people. */
  version?: string;
  /** How long the server waits for a sign of life before it gives the jobs to others: 5,000 to 600,000 ms. Default 60,000. */
  lease?: number;
  /** How long running jobs may go on after a stop is asked for, before they are told to stop and given back. Default 25,000. */
  grace?: number;
  /**
   * How long a request for jobs or a heartbeat may wait at the server; less than a proxy in between allows. Default 20,000,
   * at most 30,000.
   */
  wait?: number;
  /** Told what the worker does. Default: `console.error` for warnings and errors. */
  logger?: Logger;
}

export interface KindOptions {
  /** The newest of the payload's versions that the handler reads. Default any. */
  version?: number;
  /** What it does, for people. */
  description?: string;
  /** What payloads look like, as JSON Schema, for people. */
  schema?: Record<string, unknown>;
}

const QUIET: Logger = {
  info: () => undefined,
  warn: (text) => console.error(text),
  error: (text) => console.error(text),
};

/** Leases jobs and runs them. Handlers share this process's one thread: what computes for long belongs in another. */
export class Worker {
  readonly #client: Client;
  readonly #options: WorkerOptions;
  readonly #handlers = new Map<string, Handler>();
  readonly #kinds: Record<string, unknown>[] = [];
  #desk: Desk | undefined;
  #wire: Wire | undefined;
  #leaser: Leaser | undefined;
  #loops: { lease: Promise<void>; others: Promise<void>[] } | undefined;
  #closing: Promise<void> | undefined;
  #haste = false;

  constructor(client: Client, options: WorkerOptions = {}) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Makes a function the handler of a kind. What it returns becomes the job's output; what it throws fails the attempt;
   * `Snooze`, `Throttle`, `Cancel`, `Dead` and `RetryIn` may be either.
   */
  handle<Payload = any>(
    kind: string,
    handler: (run: Run<Payload>) => unknown,
    options: KindOptions = {},
  ): this {
    if (this.#desk !== undefined) throw new Error("handlers are added before the worker starts");
    if (this.#handlers.has(kind)) throw new Error(`the kind \`${kind}\` has a handler already`);
    this.#handlers.set(kind, handler);
    this.#kinds.push({ kind, ...options });
    return this;
  }

  /** Begins to work. `stop` ends it. */
  start(): void {
    if (this.#desk !== undefined) throw new Error("a worker starts once; make another");
    if (this.#handlers.size === 0) throw new Error("a worker without a handler would run nothing");
    const { queues = { default: 4 }, name, version, lease = 60_000, wait = 20_000, logger = QUIET } = this.#options;
    const slots = new Map(Object.entries(queues));
    const join = {
      name,
      version,
      queues: [...slots].map(([queue, count]) => ({ queue, slots: count })),
      kinds: this.#kinds,
      lease_ms: milliseconds(lease),
    };
    const desk = (this.#desk = new Desk(slots, logger));
    const wire = (this.#wire = new Wire(this.#client));
    const reporter = new Reporter(desk, wire);
    const longest = Math.min(30_000, milliseconds(wait));
    this.#leaser = new Leaser(desk, wire, join, this.#handlers, longest, reporter.tell);
    this.#loops = {
      lease: this.#leaser.loop(),
      others: [new Heart(desk, wire, longest).loop(), reporter.loop(), watch(desk)],
    };
  }

  /**
   * Works until it is told to stop: by SIGTERM or SIGINT, by `signal`, by `stop`, or by the server. A second signal gives
   * everything back at once. Throws `ApiError` if the server refuses the worker at its first join, such as for a wrong token.
   */
  async run(options: { signal?: AbortSignal; signals?: boolean } = {}): Promise<void> {
    let heard = 0;
    let desk: Desk | undefined;
    const hear = (signal: NodeJS.Signals): void => {
      heard += 1;
      if (heard === 1) desk?.logger.info(`stopping after ${signal}`);
      if (heard > 1) this.#haste = true;
      desk?.changed();
    };
    if (options.signals ?? true) {
      process.on("SIGTERM", hear);
      process.on("SIGINT", hear);
    }
    const abort = (): void => desk?.changed();
    options.signal?.addEventListener("abort", abort);
    try {
      this.start();
      const here = (desk = this.#running());
      while (
        heard === 0 &&
        !options.signal?.aborted &&
        !here.wishToStop &&
        here.failure === undefined &&
        this.#closing === undefined
      ) {
        await here.next();
      }
      await this.stop();
      if (here.failure !== undefined) throw here.failure;
    } finally {
      process.off("SIGTERM", hear);
      process.off("SIGINT", hear);
      options.signal?.removeEventListener("abort", abort);
    }
  }

  /** Leases nothing more, waits `grace` (ms) for what runs, tells it to stop, gives back what is left, and leaves. */
  async stop(options: { grace?: number } = {}): Promise<void> {
    const desk = this.#running();
    this.#closing ??= this.#close(desk, options.grace ?? this.#options.grace ?? 25_000);
    desk.changed();
    await this.#closing;
  }

  #running(): Desk {
    if (this.#desk === undefined) throw new Error("the worker has not started");
    return this.#desk;
  }

  async #close(desk: Desk, grace: number): Promise<void> {
    desk.stopping = true;
    desk.leaseCut?.abort();
    desk.beatCut?.abort();
    desk.changed();
    const beganWith = desk.running.size;
    await desk.until(() => desk.unfinished() === 0 || this.#haste, grace);
    desk.tellAll("stop");
    await desk.until(() => desk.unfinished() === 0, this.#haste ? SETTLE_IN_HASTE : SETTLE);
    const givenBack = desk.giveBackAll();
    await within(this.#loops?.lease, FLUSH);
    const handedIn = (): boolean => desk.ends.size === 0 || desk.node === undefined;
    await desk.until(handedIn, FLUSH);
    await this.#leaser?.lastLook();
    await desk.until(handedIn, FLUSH);
    const { node } = desk;
    desk.closed = true;
    desk.beatCut?.abort();
    desk.changed();
    await within(Promise.all(this.#loops?.others ?? []), 1000);
    if (node !== undefined) {
      try {
        await this.#wire?.leave(node.id);
      } catch (error) {
        desk.logger.warn(`could not leave: ${said(error)}; what is held is rescued when the lease is over`);
      }
    }
    const unsaid = desk.ends.size;
    desk.logger.info(`stopped: ${beganWith} runs were under way, ${givenBack} given back, ${unsaid} not handed in`);
  }
}

/** Waits for it, so long at most (ms): a request under way may take its time. */
async function within(what: Promise<unknown> | undefined, ms: number): Promise<void> {
  const cut = new AbortController();
  await Promise.race([what, pause(ms, cut.signal)]);
  cut.abort();
}
