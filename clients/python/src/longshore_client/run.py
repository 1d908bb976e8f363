"""One attempt of a job, as its handler sees it."""

from __future__ import annotations

import threading
from collections import deque
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import Any, Callable, Deque, Dict, Optional

from . import _json
from ._patience import now
from .models import parsed
from .outcomes import Stopped

LEVELS = ("error", "warn", "info", "debug", "trace")
# The server keeps as many of an attempt; older ones give way.
_MAX_LINES = 1000
_MAX_LINE = 8 * 1024
_UNREAD: Any = object()


class Run:
    """What a handler is given. Its methods may be called from any thread."""

    def __init__(self, said: Dict[str, Any], payload: str, node: str, tell: Callable[[], None]) -> None:
        self.id: str = said["id"]
        """The job's id."""
        self.kind: str = said["kind"]
        self.queue: str = said["queue"]
        self.priority: int = said["priority"]
        self.attempt: int = said["attempt"]
        """Counts from 1. A handler may run again after it has run to its end, so it must bear that."""
        self.max_attempts: int = said["max_attempts"]
        self.run_at: Optional[datetime] = parsed(said.get("run_at"))
        self.payload_text = payload
        """The payload, byte for byte as it was enqueued."""
        self._payload: Any = _UNREAD
        self.payload_version: int = said.get("payload_version", 1)
        self.meta: Optional[Dict[str, Any]] = said.get("meta")
        self.traceparent: Optional[str] = said.get("traceparent")
        self.cancelled = threading.Event()
        """Set when the run is to stop: `why` says what for. A handler that heeds it calls `check`."""
        self.why: Optional[str] = None
        """`cancel`, `timeout`, `stop` (the worker stops), `lost` (the job may be somebody else's by now), or None."""
        self.lease: int = said["lease"]
        self.node = node
        limit = said.get("timeout_ms")
        self.timeout: Optional[float] = None if limit is None else limit / 1000
        """How long this attempt may take, in seconds."""
        self.deadline: Optional[datetime] = None
        """When that is over."""
        self._until: Optional[float] = None
        if self.timeout is not None:
            self._until = now() + self.timeout
            # A hundred years are the most that the server takes, which is in range.
            self.deadline = datetime.now(timezone.utc) + timedelta(seconds=self.timeout)
        self._tell = tell
        self._lock = threading.Lock()
        self._progress: Optional[Dict[str, Any]] = None
        self._lines: Deque[Dict[str, Any]] = deque()
        self._first = 0  # the number of the first line that waits, among all of this run
        self._left_out = 0

    def __repr__(self) -> str:
        return f"Run(id={self.id!r}, kind={self.kind!r}, attempt={self.attempt})"

    @property
    def payload(self) -> Any:
        """The payload; integers are exact. For exact decimals decode `payload_text` yourself."""
        # Decoded when it is asked for, so that one that is odd fails its own run alone.
        if self._payload is _UNREAD:
            self._payload = _json.loads(self.payload_text)
        return self._payload

    def remaining(self) -> Optional[float]:
        """Seconds until the timeout; None if there is none."""
        return None if self._until is None else max(0.0, self._until - now())

    def check(self) -> None:
        """Raises `Stopped` if the run is to stop. Call it between steps of long work."""
        if self.cancelled.is_set():
            raise Stopped(self.why)

    def sleep(self, seconds: float) -> None:
        """Sleeps, and raises `Stopped` as soon as the run is to stop."""
        self.cancelled.wait(seconds)
        self.check()

    def progress(self, fraction: float, text: str = "") -> None:
        """Says how far it is: from 0 to 1, and a word about it. Sent about once a second, the last one only."""
        if not 0 <= fraction <= 1:
            raise ValueError(f"progress is {fraction}; it may be 0 to 1")
        with self._lock:
            self._progress = {"fraction": fraction, "text": _clean(text[:255])}
        self._tell()

    def log(self, message: str, level: str = "info", **fields: Any) -> None:
        """Adds a line to the log of this attempt. It is kept and shown as it is: no secrets."""
        if level not in LEVELS:
            raise ValueError(f"{level!r} is no level; it may be {', '.join(LEVELS)}")
        line: Dict[str, Any] = {"level": level, "message": _clean(str(message)[:_MAX_LINE])}
        line["at"] = datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")
        if fields:
            line["fields"] = {_clean(name): _field(value) for name, value in fields.items()}
        with self._lock:
            self._lines.append(line)
            if len(self._lines) > _MAX_LINES:
                # The oldest one gives way to a word about it, which counts those that follow.
                self._left_out += 1
                self._lines.popleft()
                self._first += 1
                self._lines[0] = {"level": "warn", "message": f"… {self._left_out + 1} lines left out"}
        self._tell()

    def _stop(self, why: str) -> None:
        """Tells the handler, once."""
        with self._lock:
            if self.why is not None and why != "lost":
                return
            self.why = why
        self.cancelled.set()

    def _offer(self, most: int) -> Optional[Dict[str, Any]]:
        """What it said and the server has not taken yet, of it so many lines; None if that is nothing."""
        with self._lock:
            said: Dict[str, Any] = {"job": self.id, "lease": self.lease}
            if self._progress is not None:
                said["progress"] = self._progress
            if self._lines:
                said["first"], said["lines"] = self._first, list(islice(self._lines, most))
        return said if len(said) > 2 else None

    def _taken(self, said: Dict[str, Any]) -> None:
        """The server has it, or will not have it."""
        with self._lock:
            if self._progress is said.get("progress"):
                self._progress = None
            end = said.get("first", 0) + len(said.get("lines", ()))
            while self._lines and self._first < end:
                self._lines.popleft()
                self._first += 1


def _field(value: Any) -> Any:
    try:
        _json.dumps(value).encode("utf-8")
        return value
    except (TypeError, ValueError, RecursionError):
        return _clean(repr(value)[:_MAX_LINE])


def _clean(text: str) -> str:
    """Without half surrogates, which are none of UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
