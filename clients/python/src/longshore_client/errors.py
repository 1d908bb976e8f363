"""What can go wrong, sorted by what the caller can do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

if TYPE_CHECKING:
    from .models import Job


@dataclass(frozen=True)
class Fault:
    """One fault of a request."""

    detail: str
    """What is wrong, in a sentence."""
    pointer: Optional[str] = None
    """Where in the body, as a JSON pointer: `/jobs/1/priority`."""
    parameter: Optional[str] = None
    """Which parameter of the address."""


class LongshoreError(Exception):
    """Whatever this package raises by itself."""


class Unavailable(LongshoreError):
    """The server could not be reached, or said "later", until the client gave up: the same call may succeed later.

    What was asked for may have been done all the same, if the answer was lost.
    """

    def __init__(self, text: str, retry_after: Optional[float] = None, sent: bool = True) -> None:
        super().__init__(text)
        self.retry_after = retry_after
        """Seconds after which the server wants to be asked again, if it said so."""
        self.sent = sent
        """Whether the server may have seen the request."""


class ApiError(LongshoreError):
    """The server refused a request, and said why. Compare `code`; show `detail`."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        faults: Tuple[Fault, ...] = (),
        request_id: Optional[str] = None,
    ) -> None:
        named = f" (request {request_id})" if request_id else ""
        super().__init__(f"{detail}{named}")
        self.status = status
        """The status of the answer, such as 422."""
        self.code = code
        """The kind of problem, such as `invalid`; the server's `/api/docs` has the table."""
        self.detail = detail
        """What is wrong, in a sentence."""
        self.faults = faults
        """Each fault by itself, with its place in the body, where there may be several."""
        self.request_id = request_id
        """Names the request in the server's log."""

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.status, self.code, self.detail, self.faults, self.request_id)


class Invalid(ApiError):
    """A value is not allowed, or too large (400, 413, 415, 422). Nothing was written."""


class NotAllowed(ApiError):
    """The token is wrong, expired or revoked, or does not give the right that this needs (401, 403)."""


class NotFound(ApiError):
    """There is no such thing, or not any more (404)."""


class Refused(ApiError):
    """The job's state, its unique key or its version does not allow it (409, 412)."""


class NodeLost(NotFound):
    """The server does not know this node, or not any more. A `Worker` joins anew by itself."""


class NotEnded(LongshoreError):
    """The time of `Client.wait` is over, and the job goes on."""

    def __init__(self, job: "Job") -> None:
        super().__init__(f"job {job.id} has not ended yet; it is {job.state}")
        self.job = job
        """As it stood then."""


_BY_STATUS: Dict[int, type] = {
    400: Invalid,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Refused,
    412: Refused,
    413: Invalid,
    415: Invalid,
    422: Invalid,
}


def problem(status: int, body: Any, fallback: str) -> ApiError:
    """The error that the body of an answer tells of; `fallback` describes it where the body is none of ours."""
    said: Dict[str, Any] = body if isinstance(body, dict) else {}
    code = str(said.get("code") or f"http_{status}")
    kind = NodeLost if code == "node_lost" else _BY_STATUS.get(status, ApiError)
    faults = tuple(
        Fault(str(one.get("detail", "")), one.get("pointer"), one.get("parameter"))
        for one in said.get("errors") or ()
        if isinstance(one, dict)
    )
    error = kind(status, code, str(said.get("detail") or fallback), faults, said.get("request_id"))
    assert isinstance(error, ApiError)
    return error
