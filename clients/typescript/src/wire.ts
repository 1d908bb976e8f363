// The requests of a worker, one method each: below `/work/nodes`, not repeated here.

import type { Client } from "./client.js";
import { jobsOf, write, type RawJson } from "./json.js";
import type { Leased, Said } from "./run.js";

// What an answer may take beyond the wait that was asked for.
const SLACK = 15_000;

export type Wish = "quiet" | "stop" | null;

export class Wire {
  constructor(readonly client: Client) {}

  async #post(path: string, body: unknown, wait = 0, signal?: AbortSignal): Promise<string> {
    return this.client.askOnce("POST", `/work/nodes${path}`, { body: write(body), timeout: wait + SLACK, signal });
  }

  async join(body: unknown): Promise<{ id: string; lease_ms: number }> {
    return JSON.parse(await this.#post("", body)) as { id: string; lease_ms: number };
  }

  async lease(
    node: string,
    ask: { queues: { queue: string; limit: number }[]; limit: number; holds: string[]; wait_ms: number },
    signal: AbortSignal,
  ): Promise<{ jobs: [Leased, string][]; wish: Wish }> {
    const { whole, payloads } = jobsOf(await this.#post(`/${node}/lease`, ask, ask.wait_ms, signal));
    const jobs = (whole.jobs as Leased[]).map((job, n): [Leased, string] => [job, payloads[n] as string]);
    return { jobs, wish: whole.wish as Wish };
  }

  /** Renews the lease of all that the node holds. */
  async beat(
    node: string,
    state: string,
    wait: number,
    signal: AbortSignal,
  ): Promise<{ cancel: string[]; wish: Wish; lease_ms: number }> {
    const text = await this.#post(`/${node}/heartbeat`, { state, wait_ms: wait }, wait, signal);
    return JSON.parse(text) as { cancel: string[]; wish: Wish; lease_ms: number };
  }

  async end(node: string, ends: RawJson[]): Promise<{ job: string; state?: string; lost?: boolean }[]> {
    const text = await this.#post(`/${node}/end`, { ends });
    return (JSON.parse(text) as { answers: { job: string; state?: string; lost?: boolean }[] }).answers;
  }

  async say(node: string, says: Said[]): Promise<void> {
    await this.#post(`/${node}/say`, { says });
  }

  /** What it still holds is given to others at once. */
  async leave(node: string): Promise<void> {
    await this.client.askOnce("DELETE", `/work/nodes/${node}`, { timeout: SLACK });
  }
}
