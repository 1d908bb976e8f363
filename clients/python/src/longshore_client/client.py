"""Puts jobs in and answers questions about them."""

from __future__ import annotations

import ssl
import time
import uuid
from datetime import datetime
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, overload
from urllib.parse import quote

from . import _json
from ._http import Answer, HangUp, NoAnswer, Transport
from ._patience import Patience
from .errors import ApiError, NotEnded, Refused, Unavailable, problem
from .models import Enqueued, Job, NewJob, NotAdded, Span, milliseconds

# One batch, by the server's limits: 1,000 jobs in 16 MiB.
_BATCH_JOBS = 1000
_BATCH_BYTES = 8 << 20
# How long one request waits for the end of a job; the server would take up to 60 s.
_ONE_WAIT = 25.0
_LATER = (429, 502, 503, 504)
_UNSAID: Any = object()


class Client:
    """A server of Longshore. Threads may share it.

    `url` is `http://host:port` or `https://host`; `token` is what `longshore token create` printed, and is shown
    nowhere. A request that fails because the server is away, busy or stopping is repeated with growing pauses, and
    as the server's `Retry-After` says, for at most `retry_for` seconds; then it raises `Unavailable`. A repeat adds
    no job twice. `timeout` is the longest silence of the server within one request, in seconds.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        retry_for: float = 30.0,
        timeout: float = 35.0,
        tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        self._http = Transport(url, token, tls)
        self.retry_for = retry_for
        self.timeout = timeout

    def __repr__(self) -> str:
        return f"Client({self._http.url!r})"

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._http.url

    def close(self) -> None:
        """Closes idle connections. The client can still be used."""
        self._http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def enqueue(
        self,
        kind: str,
        payload: Any = None,
        *,
        queue: Optional[str] = None,
        priority: Optional[int] = None,
        run_at: Union[datetime, str, None] = None,
        run_in: Optional[Span] = None,
        max_attempts: Optional[int] = None,
        backoff: Optional[Mapping[str, Any]] = None,
        timeout: Optional[Span] = None,
        retain: Optional[Span] = None,
        tags: Sequence[str] = (),
        meta: Optional[Mapping[str, Any]] = None,
        unique_key: Optional[str] = None,
        unique_within: Optional[Span] = None,
        unique_for_good: bool = False,
        on_conflict: Optional[str] = None,
        id: Optional[str] = None,
        payload_version: Optional[int] = None,
        redacted: Sequence[str] = (),
        idempotency_key: Optional[str] = None,
        traceparent: Optional[str] = None,
        tracestate: Optional[str] = None,
    ) -> Enqueued:
        """Adds a job; the options are those of `NewJob`.

        Each call has a key of its own, so that a repeat after a lost answer adds nothing. With an
        `idempotency_key` of yours that holds for 24 hours and across processes. `traceparent` and `tracestate` (W3C
        trace context) are kept with the job.
        """
        job = NewJob(
            kind,
            payload,
            queue=queue,
            priority=priority,
            run_at=run_at,
            run_in=run_in,
            max_attempts=max_attempts,
            backoff=backoff,
            timeout=timeout,
            retain=retain,
            tags=tags,
            meta=meta,
            unique_key=unique_key,
            unique_within=unique_within,
            unique_for_good=unique_for_good,
            on_conflict=on_conflict,
            id=id,
            payload_version=payload_version,
            redacted=redacted,
        )
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        if traceparent is not None:
            headers["traceparent"] = traceparent
        if tracestate is not None:
            headers["tracestate"] = tracestate
        answer = self.ask("POST", "/jobs", _json.write(job.body()), headers)
        return Enqueued.of(_json.loads(answer.body.decode()))

    @overload
    def enqueue_many(self, jobs: Iterable[NewJob]) -> List[Enqueued]: ...

    @overload
    def enqueue_many(self, jobs: Iterable[NewJob], *, partial: bool) -> List[Union[Enqueued, NotAdded]]: ...

    def enqueue_many(
        self, jobs: Iterable[NewJob], *, partial: bool = False
    ) -> Union[List[Enqueued], List[Union[Enqueued, NotAdded]]]:
        """Adds many jobs, and answers for each, in order.

        Up to 1,000 jobs and 8 MiB are added together: all or none, or with `partial` all that are good, the others
        answered as `NotAdded`. More go in parts, one after the other; an error then leaves the parts before it
        added.
        """
        answers: List[Union[Enqueued, NotAdded]] = []
        for part in _parts(jobs, own_ids=partial):
            bodies = ",".join(text for text, _ in part)
            said = f'{{"jobs":[{bodies}]' + (',"partial":true}' if partial else "}")
            # The server keeps no keys of partial batches. There each job has an id instead, made here.
            headers = {} if partial else {"Idempotency-Key": uuid.uuid4().hex}
            answer = self.ask("POST", "/jobs/batch", said, headers)
            for (_, own), one in zip(part, _json.loads(answer.body.decode())["results"]):
                if "problem" in one:
                    refused = problem(one["problem"].get("status", 422), one["problem"], "the job was refused")
                    answers.append(NotAdded(refused))
                elif one["id"] == own:
                    answers.append(Enqueued(one["id"], False, one["replaced"]))
                else:
                    answers.append(Enqueued.of(one))
        return answers

    def get(self, id: str) -> Job:
        """The job, whole but for what is hidden. Raises `NotFound`."""
        return self._job(self.ask("GET", f"/jobs/{_one(id)}"))

    def wait(self, id: str, timeout: Optional[Span] = None) -> Job:
        """Waits until the job ended: succeeded, cancelled or dead. Raises `NotEnded` when the time is over."""
        until = None if timeout is None else time.monotonic() + milliseconds(timeout) / 1000
        longest = min(_ONE_WAIT, self.timeout / 2)
        while True:
            left = longest if until is None else min(longest, max(0.0, until - time.monotonic()))
            answer = self.ask("GET", f"/jobs/{_one(id)}/wait?timeout={max(1, round(left * 1000))}ms")
            job = self._job(answer)
            if job.ended:
                return job
            if until is not None and time.monotonic() >= until:
                raise NotEnded(job)

    def cancel(self, id: str, why: Optional[str] = None) -> Job:
        """Cancels a job: at once while it waits; a running one is asked to stop. `Refused` if it has ended."""
        body = _json.write({} if why is None else {"why": why})
        return self._act(id, "cancel", body, ("cancelled",))

    def retry(
        self,
        id: str,
        *,
        attempts: Optional[int] = None,
        payload: Any = _UNSAID,
        payload_version: Optional[int] = None,
    ) -> Job:
        """Retries a job that is dead, cancelled, scheduled or retrying: it is due at once.

        `attempts`: how many it has left at least, default 1. With a `payload`, both change or neither.
        """
        body: Dict[str, Any] = {}
        if attempts is not None:
            body["attempts"] = attempts
        if payload is not _UNSAID:
            body["payload"] = _json.raw(payload)
        if payload_version is not None:
            body["payload_version"] = payload_version
        return self._act(id, "retry", _json.write(body), ("queued", "running", "succeeded"))

    def _act(self, id: str, action: str, body: str, done: Tuple[str, ...]) -> Job:
        lost: List[Unavailable] = []
        try:
            return self._job(self.ask("POST", f"/jobs/{_one(id)}/{action}", body, lost=lost))
        except Refused:
            # If an answer was lost, it is refused perhaps because it is done.
            if any(error.sent for error in lost):
                job = self.get(id)
                if job.state in done:
                    return job
            raise

    def _job(self, answer: Answer) -> Job:
        return Job.of(_json.loads(answer.body.decode()))

    def ask(
        self,
        method: str,
        path: str,
        body: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        *,
        lost: Optional[List[Unavailable]] = None,
    ) -> Answer:
        """Any other request to the API, below `/api/v1`, repeated as all are; only for what may be repeated.

        `lost` gets what went wrong before the answer.
        """
        patience = Patience()
        until = time.monotonic() + self.retry_for
        tries = 0
        while True:
            try:
                return self.ask_once(method, path, body, headers)
            except Unavailable as error:
                tries += 1
                if lost is not None:
                    lost.append(error)
                pause = patience.next(error.retry_after)
                if time.monotonic() + pause > until:
                    text = f"{error}; gave up after {tries} tries in {self.retry_for:g} s"
                    raise Unavailable(text, error.retry_after, error.sent) from error
                time.sleep(pause)

    def ask_once(
        self,
        method: str,
        path: str,
        body: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        *,
        timeout: Optional[float] = None,
        hang_up: Optional[HangUp] = None,
    ) -> Answer:
        """One request, not repeated. Raises `Unavailable` for what may work later, `ApiError` for the rest."""
        sent = None if body is None else body.encode("utf-8")
        try:
            answer = self._http.exchange(method, path, sent, headers or {}, timeout or self.timeout, hang_up)
        except NoAnswer as error:
            raise Unavailable(f"could not reach {self.url}: {error}", sent=error.sent) from error
        if answer.status < 300:
            return answer
        raise self._failed(answer)

    def _failed(self, answer: Answer) -> Union[Unavailable, ApiError]:
        try:
            said = _json.loads(answer.body.decode("utf-8", "replace"))
        except ValueError:
            said = None
        error = problem(answer.status, said, f"{self.url} answered with status {answer.status}")
        if answer.status in _LATER or error.code == "in_progress":
            later = Unavailable(f"{self.url} said later: {error}", _seconds(answer.headers.get("retry-after")))
            later.__cause__ = error
            return later
        return error


def _one(id: str) -> str:
    """An id as a part of an address, whatever it is."""
    return quote(str(id), safe="")


def _uuid7() -> str:
    """An id that begins with the time, as the server's own do: they lie together in its indexes."""
    made = uuid.uuid4().int & ~(((1 << 52) - 1) << 76) | (time.time_ns() // 1_000_000) << 80 | 7 << 76
    return str(uuid.UUID(int=made))


def _seconds(text: Optional[str]) -> Optional[float]:
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:  # a date; no server of ours sends one
        return None


def _parts(jobs: Iterable[NewJob], own_ids: bool) -> Iterator[List[Tuple[str, Optional[str]]]]:
    """Jobs as texts, as many as go together, each with the id that was made for it."""
    part: List[Tuple[str, Optional[str]]] = []
    size = 0
    for job in jobs:
        body, own = job.body(), None
        if own_ids and job.id is None:
            own = body["id"] = _uuid7()
        text = _json.write(body)
        length = len(text.encode())
        if part and (len(part) == _BATCH_JOBS or size + length > _BATCH_BYTES):
            yield part
            part, size = [], 0
        part.append((text, own))
        size += length
    if part:
        yield part
