"""How a handler says that a run ended otherwise than well or badly: returned or raised."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from . import _json
from .models import Span, milliseconds

# What is longer is kept as a marker, as in a worker written in Rust.
_MAX_OUTPUT_BYTES = 1 << 20
_MAX_MESSAGE = 4096
_MAX_CHAIN = 10


class Outcome(Exception):
    """One of those below."""

    def end(self) -> Dict[str, Any]:
        """As the server reads it."""
        raise NotImplementedError


class Snooze(Outcome):
    """Run again after `delay`; the attempt does not count."""

    def __init__(self, delay: Span) -> None:
        super().__init__(f"snoozed for {delay}")
        self._delay = milliseconds(delay)

    def end(self) -> Dict[str, Any]:
        return {"end": "snooze", "delay_ms": self._delay}


class Throttle(Outcome):
    """Somebody said "later": run again after `delay`; the attempt does not count, but not endlessly often."""

    def __init__(self, delay: Span) -> None:
        super().__init__(f"throttled for {delay}")
        self._delay = milliseconds(delay)

    def end(self) -> Dict[str, Any]:
        return {"end": "throttle", "delay_ms": self._delay}


class Cancel(Outcome):
    """Stop for good; the job counts as cancelled, not as dead."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self._reason = reason

    def end(self) -> Dict[str, Any]:
        return {"end": "cancel", "reason": self._reason}


class Dead(Outcome):
    """It will never work: the job is dead at once."""

    def __init__(self, message: str) -> None:
        super().__init__(message)

    def end(self) -> Dict[str, Any]:
        return {"end": "fail", "error": _error(self, str(self)), "dead": True}


class RetryIn(Outcome):
    """The attempt failed; the next, if one is left, comes after `delay` and not by the job's backoff."""

    def __init__(self, delay: Span, message: str) -> None:
        super().__init__(message)
        self._delay = milliseconds(delay)

    def end(self) -> Dict[str, Any]:
        return {"end": "fail", "error": _error(self, str(self)), "retry_in_ms": self._delay}


class Stopped(Outcome):
    """Broken off since the run was told to stop: the job waits again as before, and the attempt does not count.

    `Run.check` raises it.
    """

    def __init__(self, why: Optional[str] = None) -> None:
        super().__init__("the run was told to stop" + (f": {why}" if why else ""))

    def end(self) -> Dict[str, Any]:
        return {"end": "give_back"}


def of_return(value: Any) -> Dict[str, Any]:
    """The end of a run whose handler returned this."""
    if isinstance(value, Outcome):
        return value.end()
    if value is None:
        return {"end": "complete"}
    try:
        text = _json.dumps(value)
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        return {"end": "complete", "output": _dropped(str(error), 0)}
    size = len(text.encode("utf-8"))
    if size > _MAX_OUTPUT_BYTES:
        return {"end": "complete", "output": _dropped(f"larger than {_MAX_OUTPUT_BYTES} bytes", size)}
    return {"end": "complete", "output": _json.raw(_json.RawJson._trusted(text))}


def of_raise(error: BaseException, told: bool) -> Dict[str, Any]:
    """The end of a run whose handler raised this; `told`: it had been told to stop."""
    if isinstance(error, Stopped) and not told:
        return Snooze(1).end()
    if isinstance(error, Outcome):
        return error.end()
    return {"end": "fail", "error": _error(error, _said(error))}


def failed(message: str) -> Dict[str, Any]:
    """The end of a run that failed for a reason of ours."""
    return {"end": "fail", "error": {"message": message}}


def _error(error: BaseException, message: str) -> Dict[str, Any]:
    chain: List[str] = []
    cause = _cause(error)
    while cause is not None and len(chain) < _MAX_CHAIN:
        chain.append(_said(cause))
        cause = _cause(cause)
    said: Dict[str, Any] = {"message": _cut(message) or type(error).__name__}
    if chain:
        said["chain"] = chain
    return said


def _cause(error: BaseException) -> Optional[BaseException]:
    return error.__cause__ if error.__cause__ or error.__suppress_context__ else error.__context__


def _said(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = "its text cannot be had"
    name = type(error).__name__
    return _cut(f"{name}: {text}" if text else name)


def _cut(text: str) -> str:
    # Half a surrogate, as in names of files, is none of UTF-8.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= _MAX_MESSAGE else text[: _MAX_MESSAGE - 1] + "…"


def _dropped(reason: str, size: int) -> Dict[str, Any]:
    return {"longshore": "output dropped", "reason": _cut(reason), "size_bytes": size}
