// What can go wrong, sorted by what the caller can do about it.

import type { Job } from "./models.js";

/** One fault of a request. */
export interface Fault {
  /** What is wrong, in a sentence. */
  detail: string;
  /** Where in the body, as a JSON pointer: `/jobs/1/priority`. */
  pointer?: string;
  /** Which parameter of the address. */
  parameter?: string;
}

/** Whatever this package throws by itself. */
export class LongshoreError extends Error {
  override name = "LongshoreError";
}

/**
 * The server could not be reached, or said "later", until the client gave up: the same call may succeed later. What was
 * asked for may have been done all the same, if the answer was lost.
 */
export class Unavailable extends LongshoreError {
  override name = "Unavailable";
  /** Milliseconds after which the server wants to be asked again, if it said so. */
  readonly retryAfter: number | undefined;

  constructor(message: string, retryAfter?: number, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.retryAfter = retryAfter;
  }
}

/** The server refused a request, and said why. Compare `code`; show `detail`. */
export class ApiError extends LongshoreError {
  override name = "ApiError";

  constructor(
    /** The status of the answer, such as 422. */
    readonly status: number,
    /** The kind of problem, such as `invalid`; the server's `/api/docs` has the table. */
    readonly code: string,
    /** What is wrong, in a sentence. */
    readonly detail: string,
    /** Each fault by itself, with its place in the body, where there may be several. */
    readonly faults: readonly Fault[] = [],
    /** Names the request in the server's log. */
    readonly requestId: string | undefined = undefined,
  ) {
    super(requestId === undefined ? detail : `${detail} (request ${requestId})`);
  }
}

/** A value is not allowed, or too large (400, 413, 415, 422). Nothing was written. */
export class Invalid extends ApiError {
  override name = "Invalid";
}

/** The token is wrong, expired or revoked, or does not give the right that this needs (401, 403). */
export class NotAllowed extends ApiError {
  override name = "NotAllowed";
}

/** There is no such thing, or not any more (404). */
export class NotFound extends ApiError {
  override name = "NotFound";
}

/** The job's state, its unique key or its version does not allow it (409, 412). */
export class Refused extends ApiError {
  override name = "Refused";
}

/** The server does not know this node, or not any more. A `Worker` joins anew by itself. */
export class NodeLost extends NotFound {
  override name = "NodeLost";
}

/** The time of `Client.wait` is over, and the job goes on. */
export class NotEnded extends LongshoreError {
  override name = "NotEnded";

  constructor(
    /** As it stood then. */
    readonly job: Job,
  ) {
    super(`job ${job.id} has not ended yet; it is ${job.state}`);
  }
}

const BY_STATUS: Record<number, typeof ApiError> = {
  400: Invalid,
  401: NotAllowed,
  403: NotAllowed,
  404: NotFound,
  409: Refused,
  412: Refused,
  413: Invalid,
  415: Invalid,
  422: Invalid,
};

/** The error that the body of an answer tells of; `fallback` describes it where the body is none of ours. */
export function problem(status: number, body: unknown, fallback: string): ApiError {
  const said = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const code = typeof said.code === "string" ? said.code : `http_${status}`;
  const detail = typeof said.detail === "string" ? said.detail : fallback;
  const faults = Array.isArray(said.errors) ? (said.errors as Fault[]) : [];
  const id = typeof said.request_id === "string" ? said.request_id : undefined;
  const Kind = code === "node_lost" ? NodeLost : (BY_STATUS[status] ?? ApiError);
  return new Kind(status, code, detail, faults, id);
}
