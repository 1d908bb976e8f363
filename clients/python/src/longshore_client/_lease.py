"""The loop that joins and leases: one call at a time, which waits at the server for jobs."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, Mapping, Optional

from . import outcomes
from ._desk import Active, Desk, Node, log, work
from ._http import HangUp
from ._patience import Patience, now
from ._wire import Wire
from .errors import ApiError, NodeLost, Unavailable
from .run import Run

# Jobs of one answer; the server's own limit.
_MOST = 100


class Leaser:
    """Makes threads of jobs."""

    def __init__(
        self,
        desk: Desk,
        wire: Wire,
        join: Mapping[str, Any],
        handlers: Mapping[str, Callable[[Run], Any]],
        wait: float,
        tell: Callable[[], None],
    ) -> None:
        self._desk, self._wire, self._join_body, self._handlers = desk, wire, join, handlers
        self._wait, self._tell = wait, tell
        self._patience = Patience()
        self._unsure = False
        self._joined_once = False

    def loop(self) -> None:
        """Until the worker stops."""
        while True:
            with self._desk.changed:
                if self._desk.stopping:
                    break
            try:
                self._round()
                self._patience.reset()
            except NodeLost:
                pass  # the desk knows
            except Unavailable as error:
                self._rest(error.retry_after, error)
            except Exception as error:
                if isinstance(error, ApiError) and not self._joined_once:
                    self._fail(error)
                    return
                self._rest(None, error)

    def _fail(self, error: ApiError) -> None:
        # A wrong token or a bad name of a queue: no later try will help.
        log.error("the server does not take this worker: %s", error)
        with self._desk.changed:
            self._desk.failure = error
            self._desk.changed.notify_all()

    def _rest(self, retry_after: Optional[float], error: Exception) -> None:
        pause = self._patience.next(retry_after)
        with self._desk.changed:
            if self._desk.stopping:
                return
            log.warning("no jobs for now: %s; again in %.1f s", error, pause)
            self._desk.changed.wait_for(lambda: self._desk.stopping, pause)

    def _round(self) -> None:
        with self._desk.changed:
            node = self._desk.node
        if node is None:
            self._join()
            return
        asked = self._room(node)
        if asked is not None:
            self._lease(node, asked, self._wait)

    def _join(self) -> None:
        sent_at = now()
        said = self._wire.join(self._join_body)
        node = Node(said["id"], said["lease_ms"] / 1000, sent_at)
        self._joined_once = True
        with self._desk.changed:
            self._desk.node = node
            self._desk.quiet = False
            self._desk.changed.notify_all()
        log.info("joined as node %s", node.id)

    def _room(self, node: Node) -> Optional[Dict[str, int]]:
        """Waits until there is something to ask for; None if things have changed meanwhile."""
        desk = self._desk
        with desk.changed:
            while not desk.stopping and desk.node is node:
                free = desk.free()
                if free and not desk.quiet and node.is_fresh():
                    desk.asked = set(free)
                    desk.hang_up = HangUp()
                    return free
                desk.changed.wait(1.0)
        return None

    def _lease(self, node: Node, asked: Mapping[str, int], wait: float) -> None:
        desk = self._desk
        with desk.changed:
            holds = sorted({job for job, _ in desk.held})
            hang_up = desk.hang_up or HangUp()
        limit = min(_MOST, sum(asked.values()))
        try:
            said, jobs = self._wire.lease(node.id, asked, limit, holds, wait, hang_up)
        except NodeLost:
            desk.lost(node)
            raise
        except Unavailable:
            # Jobs may be ours that we never heard of; the next call tells.
            self._unsure = True
            if hang_up.asked:
                return
            raise
        finally:
            with desk.changed:
                desk.hang_up, desk.asked = None, set()
        self._unsure = False
        with desk.changed:
            desk.quiet = said.get("wish") == "quiet"
            desk.wish_to_stop = desk.wish_to_stop or said.get("wish") == "stop"
            desk.changed.notify_all()
        for job, payload in jobs:
            self._start(node, job, payload)

    def _start(self, node: Node, job: Dict[str, Any], payload: str) -> None:
        desk = self._desk
        run = Run(job, payload, node.id, self._tell)
        with desk.changed:
            active = desk.took(run, node)
            desk.changed.notify_all()
        if active is None:
            return
        handler = self._handlers.get(run.kind)
        if handler is None or desk.stopping:
            self._not_run(active, {"end": "give_back"} if handler else outcomes.failed(f"no handler for {run.kind}"))
            return
        name = f"longshore-{run.kind}-{run.id[-12:]}"
        try:
            threading.Thread(target=work, args=(desk, active, handler), name=name, daemon=True).start()
        except RuntimeError as error:  # no more threads
            log.error("job %s is given back: %s", run.id, error)
            self._not_run(active, {"end": "give_back"})

    def _not_run(self, active: Active, end: Dict[str, Any]) -> None:
        self._desk.decide(active, end)
        self._desk.returned(active)

    def last_look(self) -> None:
        """What came with an answer that was cut is given back, so that no attempt of it counts. After the loop."""
        with self._desk.changed:
            node = self._desk.node
        if node is None or not self._unsure or not node.is_fresh():
            return
        try:
            self._lease(node, {queue: 1 for queue in self._desk.slots}, 0.0)
        except Exception as error:
            log.info("what is still held is given away when the node leaves: %s", error)
