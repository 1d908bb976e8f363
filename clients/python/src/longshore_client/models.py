"""Jobs: what is asked for, and what there is."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _json
from .errors import ApiError

Span = Union[timedelta, float, int, str]
"""A span of time: a `timedelta`, a number of seconds, or a text such as `"5m"` or `"1h 30m"`."""

NO_TIMEOUT = "none"
"""As the `timeout` of a job: one attempt may run for ever."""


def span(value: Span) -> str:
    """As the server reads it, to the millisecond, and never rounded down to nothing."""
    if isinstance(value, str):
        return value
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    return f"{milliseconds(seconds)}ms"


def milliseconds(value: Span) -> int:
    """Whole milliseconds; 1 at least for what is above 0."""
    if isinstance(value, str):
        raise ValueError(f"a span here is a number of seconds or a timedelta, not {value!r}")
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"a span of {seconds} seconds; it may not be negative or endless")
    return max(1, round(seconds * 1000)) if seconds > 0 else 0


def moment(value: Union[datetime, str]) -> str:
    """RFC 3339."""
    if isinstance(value, str):
        return value
    if value.tzinfo is None:
        raise ValueError("a time without a zone could mean any: give it one, such as timezone.utc")
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def parsed(text: Optional[str]) -> Optional[datetime]:
    """A time of the server's; to the microsecond."""
    if text is None:
        return None
    # Python before 3.11 reads neither `Z` nor fractions of other lengths than 3 and 6.
    head, _, fraction = text.rstrip("Z").partition(".")
    when = datetime.fromisoformat(head).replace(tzinfo=timezone.utc)
    return when + timedelta(microseconds=int(fraction.ljust(6, "0")[:6])) if fraction else when


class Backoff:
    """When a failed attempt is repeated. Spans as for `Span`, without texts."""

    @staticmethod
    def exponential(base: Span, factor: int, max: Span) -> Dict[str, Any]:
        """Uniform between `base` and `base * factor ** attempt`, never above `max`."""
        return {"exponential": {"base_ms": milliseconds(base), "factor": factor, "max_ms": milliseconds(max)}}

    @staticmethod
    def polynomial(base: Span, max: Span, exponent: int = 4) -> Dict[str, Any]:
        """Uniform between `base` and `base * attempt ** exponent`, never above `max`."""
        return {"polynomial": {"base_ms": milliseconds(base), "exponent": exponent, "max_ms": milliseconds(max)}}

    @staticmethod
    def fixed(delay: Span) -> Dict[str, Any]:
        """The same wait each time."""
        return {"fixed": {"delay_ms": milliseconds(delay)}}

    @staticmethod
    def list(*delays: Span) -> Dict[str, Any]:
        """One wait for each attempt; the last one repeats."""
        return {"list": {"delays_ms": [milliseconds(delay) for delay in delays]}}


@dataclass
class NewJob:
    """A job to be added. Only `kind` must be said; what is None has the server's default."""

    kind: str
    """Picks the handler: 1 to 255 bytes."""
    payload: Any = None
    """Any JSON, at most 1 MiB; `RawJson` is kept byte for byte."""
    queue: Optional[str] = None
    """The queue. Default `default`."""
    priority: Optional[int] = None
    """0 runs first, 9 last. Default 5."""
    run_at: Union[datetime, str, None] = None
    """When it is due. Default at once."""
    run_in: Optional[Span] = None
    """Due so long after the enqueue, instead of `run_at`."""
    max_attempts: Optional[int] = None
    """How often it may run in all. Default 10."""
    backoff: Optional[Mapping[str, Any]] = None
    """When a failed attempt is repeated, of `Backoff`. Default exponential from 1 s, factor 3, at most 1 h."""
    timeout: Optional[Span] = None
    """How long one attempt may run; `NO_TIMEOUT` for ever. Default 1 h."""
    retain: Optional[Span] = None
    """How long it is kept once it succeeded or was cancelled; 0 keeps nothing. Default: the server's rules."""
    tags: Sequence[str] = ()
    """At most 64."""
    meta: Optional[Mapping[str, Any]] = None
    """Notes of the caller, at most 64 KiB."""
    unique_key: Optional[str] = None
    """At most one job of this kind for it, while that is active."""
    unique_within: Optional[Span] = None
    """Holds the key for a fixed window of this length instead."""
    unique_for_good: bool = False
    """Holds the key for good, once it succeeded."""
    on_conflict: Optional[str] = None
    """When another job holds the key: `keep` (default), `replace` or `refuse`."""
    id: Optional[str] = None
    """Its id, a UUID of your own, so that a repeat adds nothing. Default a fresh one."""
    payload_version: Optional[int] = None
    """Which version of its payloads this one is. Default 1."""
    redacted: Sequence[str] = ()
    """Top-level fields of the payload that nobody is shown; handlers see them."""

    def body(self) -> Dict[str, Any]:
        """As the API has it."""
        body: Dict[str, Any] = {"kind": self.kind, "payload": _json.raw(self.payload)}
        plain = {
            "queue": self.queue,
            "priority": self.priority,
            "max_attempts": self.max_attempts,
            "backoff": self.backoff,
            "meta": self.meta,
            "unique_key": self.unique_key,
            "on_conflict": self.on_conflict,
            "id": self.id,
            "payload_version": self.payload_version,
        }
        body.update((name, value) for name, value in plain.items() if value is not None)
        spans = {
            "run_in": self.run_in,
            "timeout": self.timeout,
            "retain": self.retain,
            "unique_within": self.unique_within,
        }
        body.update((name, span(value)) for name, value in spans.items() if value is not None)
        if self.run_at is not None:
            body["run_at"] = moment(self.run_at)
        if self.unique_for_good:
            body["unique_for_good"] = True
        for name, texts in (("tags", self.tags), ("redacted", self.redacted)):
            if isinstance(texts, str):
                raise TypeError(f"{name} is a list of texts, not a text")
            if texts:
                body[name] = list(texts)
        return body


@dataclass(frozen=True)
class Enqueued:
    """What became of one job that was enqueued."""

    id: str
    """The job's id; that of the holder, if another job has its unique key."""
    duplicate: bool
    """It was there already; nothing was added."""
    replaced: bool
    """It was there already, and has the new payload, time and priority now."""

    @staticmethod
    def of(said: Mapping[str, Any]) -> "Enqueued":
        """From the answer."""
        return Enqueued(said["id"], said["duplicate"], said["replaced"])


@dataclass(frozen=True)
class NotAdded:
    """One job of an `enqueue_many(..., partial=True)` that was refused."""

    error: ApiError
    """Why."""


@dataclass(frozen=True)
class Attempt:
    """An attempt that failed."""

    attempt: int
    kind: str
    """`error`, `timeout`, `node_lost` and the like."""
    message: str
    chain: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """A job as it stood when it was asked for. `raw` has all that the API tells."""

    id: str
    kind: str
    queue: str
    state: str
    """`scheduled`, `queued`, `blocked`, `running`, `retrying`, `succeeded`, `dead` or `cancelled`."""
    priority: int
    attempt: int
    max_attempts: int
    payload: Any
    """Without fields that are hidden."""
    output: Any
    """What the handler returned."""
    meta: Optional[Dict[str, Any]]
    tags: Tuple[str, ...]
    errors: Tuple[Attempt, ...]
    """The newest failed attempts, oldest first; at most 10."""
    run_at: Optional[datetime]
    created_at: Optional[datetime]
    finished_at: Optional[datetime]
    raw: Dict[str, Any] = field(repr=False)

    @property
    def ended(self) -> bool:
        """It succeeded, was cancelled or is dead."""
        return self.state in ("succeeded", "cancelled", "dead")

    @staticmethod
    def of(said: Dict[str, Any]) -> "Job":
        """From the answer."""
        errors: List[Attempt] = [
            Attempt(one.get("attempt", 0), one.get("kind", ""), one.get("message", ""), tuple(one.get("chain") or ()))
            for one in said.get("errors") or ()
        ]
        return Job(
            id=said["id"],
            kind=said["kind"],
            queue=said["queue"],
            state=said["state"],
            priority=said["priority"],
            attempt=said["attempt"],
            max_attempts=said["max_attempts"],
            payload=said.get("payload"),
            output=said.get("output"),
            meta=said.get("meta"),
            tags=tuple(said.get("tags") or ()),
            errors=tuple(errors),
            run_at=parsed(said.get("run_at")),
            created_at=parsed(said.get("created_at")),
            finished_at=parsed(said.get("finished_at")),
            raw=said,
        )
