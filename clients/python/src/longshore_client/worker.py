"""A worker: a node of Longshore that runs jobs in threads of this process."""

from __future__ import annotations

import inspect
import signal
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, TypeVar

from ._beat import Heart, Watch
from ._desk import Desk, log
from ._lease import Leaser
from ._report import Reporter
from ._wire import Wire
from .client import Client
from .models import Span, milliseconds
from .run import Run

Handler = TypeVar("Handler", bound=Callable[[Run], Any])

# How long runs that are told to stop may take to return, before they are given back all the same.
_SETTLE = 2.0
_SETTLE_IN_HASTE = 0.3
# How long the last ends may take to be handed in.
_FLUSH = 10.0


class Worker:
    """Leases jobs of `queues` (name and slots: how many run at a time) and runs them, each on a thread.

    `lease`: how long the server waits for a sign of life before it gives this worker's jobs to others, 5 s to 600 s.
    `wait`: how long a request for jobs or a heartbeat may wait at the server, at most 30 s; less than a proxy in
    between allows.
    `grace`: how long running jobs may go on after a stop is asked for, before they are told to stop and given back.
    """

    def __init__(
        self,
        client: Client,
        queues: Optional[Mapping[str, int]] = None,
        *,
        name: Optional[str] = None,
        version: Optional[str] = None,
        lease: Span = 60,
        grace: Span = 25,
        wait: Span = 20,
    ) -> None:
        self._client = client
        self._queues = dict({"default": 4} if queues is None else queues)
        self._name, self._version = name, version
        self._lease_ms = milliseconds(lease)
        self._grace = milliseconds(grace) / 1000
        self._wait = min(30.0, milliseconds(wait) / 1000)
        self._handlers: Dict[str, Callable[[Run], Any]] = {}
        self._kinds: List[Dict[str, Any]] = []
        self._desk: Optional[Desk] = None
        self._closer: Optional[threading.Thread] = None
        self._closing = threading.Event()
        self._haste = threading.Event()
        self._threads: Dict[str, threading.Thread] = {}

    def __repr__(self) -> str:
        return f"Worker({self._client!r}, {self._queues!r})"

    def handler(
        self,
        kind: str,
        *,
        version: Optional[int] = None,
        description: Optional[str] = None,
        schema: Optional[Mapping[str, Any]] = None,
    ) -> Callable[[Handler], Handler]:
        """Makes a function the handler of a kind.

        What it returns becomes the job's output; what it raises fails the attempt; `Snooze`, `Throttle`, `Cancel`,
        `Dead` and `RetryIn` may be either. `version`: the newest of the payload's versions that it reads. `schema`:
        what payloads look like, as JSON Schema, for people.
        """

        def add(function: Handler) -> Handler:
            if self._desk is not None:
                raise RuntimeError("handlers are added before the worker starts")
            if inspect.iscoroutinefunction(function):
                raise TypeError(f"the handler of {kind!r} is async; a handler is a plain function, which may call asyncio.run")
            if kind in self._handlers:
                raise ValueError(f"the kind {kind!r} has a handler already")
            self._handlers[kind] = function
            said = {"kind": kind, "version": version, "description": description, "schema": schema}
            self._kinds.append({name: value for name, value in said.items() if value is not None})
            return function

        return add

    def start(self) -> None:
        """Begins to work, in threads of its own. `stop` ends it."""
        if self._desk is not None:
            raise RuntimeError("a worker starts once; make another")
        if not self._handlers:
            raise RuntimeError("a worker without a handler would run nothing")
        join: Dict[str, Any] = {
            "queues": [{"queue": queue, "slots": slots} for queue, slots in self._queues.items()],
            "kinds": self._kinds,
            "lease_ms": self._lease_ms,
        }
        if self._name is not None:
            join["name"] = self._name
        if self._version is not None:
            join["version"] = self._version
        desk = self._desk = Desk(self._queues)
        wire = self._wire = Wire(self._client)
        reporter = Reporter(desk, wire)
        heart = Heart(desk, wire, self._wait)
        self._heart = heart
        self._leaser = Leaser(desk, wire, join, self._handlers, self._wait, reporter.tell)
        loops = {
            "lease": self._leaser.loop,
            "heartbeat": heart.loop,
            "report": reporter.loop,
            "watch": Watch(desk, heart).loop,
        }
        for name, loop in loops.items():
            thread = threading.Thread(target=loop, name=f"longshore-{name}", daemon=True)
            self._threads[name] = thread
            thread.start()

    def run(self) -> None:
        """Works until it is told to stop: by SIGTERM or SIGINT, `stop` in another thread, or the server.

        Signals are heard only where this is the main thread. The second one gives everything back at once. Raises
        `ApiError` if the server refuses the worker at its first join, such as for a wrong token.
        """
        heard: List[int] = []
        before: Dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                # Nothing more: the interrupted thread may hold any lock.
                before[number] = signal.signal(number, lambda number, _: heard.append(int(number)))
        try:
            self.start()
            desk = self._running()
            while not (heard or desk.wish_to_stop or desk.failure or self._closing.is_set()):
                self._closing.wait(0.1)
            if heard:
                log.info("stopping after %s", signal.Signals(heard[0]).name)
            closer = self._close_in_background(self._grace)
            while closer.is_alive():
                closer.join(0.1)
                if len(heard) > 1:
                    self._haste.set()
            if desk.failure is not None:
                raise desk.failure
        finally:
            for number, earlier in before.items():
                signal.signal(number, earlier)

    def stop(self, grace: Optional[Span] = None) -> None:
        """Leases nothing more, waits `grace` for what runs, tells it to stop, gives back what is left, and leaves."""
        self._running()
        self._close_in_background(self._grace if grace is None else milliseconds(grace) / 1000).join()

    def _running(self) -> Desk:
        if self._desk is None:
            raise RuntimeError("the worker has not started")
        return self._desk

    def _close_in_background(self, grace: float) -> threading.Thread:
        desk = self._running()
        with desk.changed:
            if self._closer is None:
                self._closer = threading.Thread(target=self._close, args=(grace,), name="longshore-stop", daemon=True)
                self._closer.start()
            self._closing.set()
            return self._closer

    def _close(self, grace: float) -> None:
        desk = self._running()
        with desk.changed:
            desk.stopping = True
            desk.cut_lease()
            desk.changed.notify_all()
        self._heart.cut()
        began_with = len(desk.running)
        self._until(lambda: desk.unfinished() == 0 or self._haste.is_set(), grace)
        desk.tell_all("stop")
        self._until(lambda: desk.unfinished() == 0, _SETTLE_IN_HASTE if self._haste.is_set() else _SETTLE)
        given_back = desk.give_back_all()
        self._threads["lease"].join(_FLUSH)
        self._until(lambda: not desk.ends or desk.node is None, _FLUSH)
        self._leaser.last_look()
        self._until(lambda: not desk.ends or desk.node is None, _FLUSH)
        with desk.changed:
            node, unsaid = desk.node, len(desk.ends)
            desk.closed = True
            desk.changed.notify_all()
        self._heart.cut()
        for name in ("report", "watch"):
            self._threads[name].join(1.0)
        if node is not None:
            try:
                self._wire.leave(node.id)
            except Exception as error:
                log.warning("could not leave: %s; what is held is rescued when the lease is over", error)
        log.info("stopped: %d runs were under way, %d given back, %d not handed in", began_with, given_back, unsaid)

    def _until(self, holds: Callable[[], bool], longest: float) -> None:
        desk = self._running()
        until = time.monotonic() + longest
        with desk.changed:
            # In steps, as `_haste` does not notify.
            while not holds() and time.monotonic() < until:
                desk.changed.wait(min(0.1, max(0.0, until - time.monotonic())))
