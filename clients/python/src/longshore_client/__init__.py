"""Enqueue and run jobs of Longshore over HTTP: `Client` puts them in, `Worker` runs them."""

from ._json import RawJson
from .client import Client
from .errors import ApiError, Fault, Invalid, LongshoreError, NodeLost, NotAllowed, NotEnded, NotFound, Refused, Unavailable
from .models import NO_TIMEOUT, Attempt, Backoff, Enqueued, Job, NewJob, NotAdded, Span
from .outcomes import Cancel, Dead, Outcome, RetryIn, Snooze, Stopped, Throttle
from .run import Run
from .worker import Worker

__version__ = "0.1.0"

__all__ = [
    "NO_TIMEOUT",
    "ApiError",
    "Attempt",
    "Backoff",
    "Cancel",
    "Client",
    "Dead",
    "Enqueued",
    "Fault",
    "Invalid",
    "Job",
    "LongshoreError",
    "NewJob",
    "NodeLost",
    "NotAdded",
    "NotAllowed",
    "NotEnded",
    "NotFound",
    "Outcome",
    "RawJson",
    "Refused",
    "RetryIn",
    "Run",
    "Snooze",
    "Span",
    "Stopped",
    "Throttle",
    "Unavailable",
    "Worker",
]
