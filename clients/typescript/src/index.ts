// Enqueue and run jobs of Longshore over HTTP: `Client` puts them in, `Worker` runs them.

export { Client, type ClientOptions } from "./client.js";
export {
  ApiError,
  type Fault,
  Invalid,
  LongshoreError,
  NodeLost,
  NotAllowed,
  NotEnded,
  NotFound,
  Refused,
  Unavailable,
} from "./errors.js";
export { RawJson } from "./json.js";
export type {
  Attempt,
  Backoff,
  Enqueued,
  EnqueueOptions,
  Job,
  NewJob,
  NotAdded,
  Options,
  Span,
  State,
} from "./models.js";
export { hasEnded } from "./models.js";
export type { Handler, Logger } from "./desk.js";
export { Cancel, Dead, Outcome, RetryIn, Snooze, Stopped, Throttle, type Why } from "./outcomes.js";
export { type Level, Run } from "./run.js";
export { type KindOptions, Worker, type WorkerOptions } from "./worker.js";
