"""What a worker knows at a moment: its node, its runs, and ends that the server has not confirmed. One lock."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Set, Tuple

from . import outcomes
from ._http import HangUp
from ._patience import now
from .run import Run

log = logging.getLogger("longshore_client.worker")

End = Dict[str, Any]


class Node:
    """One join: from it until the server has lost it, or the worker leaves."""

    def __init__(self, id: str, lease: float, joined_at: float) -> None:
        self.id = id
        self.lease = lease
        self.good_at = joined_at
        """When the last heartbeat that was answered was sent: the lease counts from no later."""
        self.lost = False
        self.stale_since: Optional[float] = None
        """When it was first found that the lease may be over; None while all is well."""
        self.warned = False
        """Its runs were told so."""

    def is_fresh(self) -> bool:
        """Whether what it holds is certainly its own. Some of the lease is kept for runs to stop in."""
        return not self.lost and now() < self.good_at + self.lease - min(5.0, self.lease / 6)


class Active:
    """A run whose handler has not returned, or whose end the server has not confirmed."""

    def __init__(self, run: Run, node: Node) -> None:
        self.run = run
        self.node = node
        self.decided = False
        """How it ended is said; whatever the handler does now is dropped."""
        self.end: Optional[End] = None
        self.sent = False
        """Its end was sent before, and that was not answered."""
        self.mended = False
        """Its end was refused once, and another is said in its place."""


class Desk:
    """Every field is read and written under `changed`."""

    def __init__(self, queues: Mapping[str, int]) -> None:
        self.changed = threading.Condition()
        self.slots = dict(queues)
        self.node: Optional[Node] = None
        self.busy: Dict[str, int] = {queue: 0 for queue in queues}
        """Handlers that have not returned, by queue: a thread cannot be ended, so it keeps its slot."""
        self.running: Set[Active] = set()
        self.held: Dict[Tuple[str, int], Active] = {}
        """By job and lease: received, and their end not confirmed; of this node only."""
        self.ends: Deque[Active] = deque()
        self.quiet = False
        self.stopping = False
        self.closed = False
        self.asked: Set[str] = set()
        """Queues that the lease call under way asks for."""
        self.hang_up: Optional[HangUp] = None
        self.wish_to_stop = False
        self.failure: Optional[BaseException] = None

    def state(self) -> str:
        """The word for the server."""
        return "stopping" if self.stopping else "quiet" if self.quiet else "serving"

    def free(self) -> Dict[str, int]:
        """Room, by queue; where there is none the queue is left out."""
        room = {queue: slots - self.busy[queue] for queue, slots in self.slots.items()}
        return {queue: free for queue, free in room.items() if free > 0}

    def cut_lease(self) -> None:
        """Ends a lease call that waits: what it would ask for has changed."""
        if self.hang_up is not None:
            self.hang_up()

    def took(self, run: Run, node: Node) -> Optional[Active]:
        """A job was received; None if it is here already."""
        key = (run.id, run.lease)
        if node is not self.node or key in self.held:
            return None
        active = Active(run, node)
        self.held[key] = active
        self.running.add(active)
        self.busy[run.queue] = self.busy.get(run.queue, 0) + 1
        return active

    def decide(self, active: Active, end: End) -> bool:
        """Says how a run ended, once; whether this was it."""
        with self.changed:
            if active.decided:
                return False
            active.decided = True
            if active.node.lost:
                return False
            active.end = end
            self.ends.append(active)
            self.changed.notify_all()
            return True

    def returned(self, active: Active) -> None:
        """Its handler is over, and its slot free."""
        with self.changed:
            self.running.discard(active)
            queue = active.run.queue
            self.busy[queue] -= 1
            if queue not in self.asked and not self.stopping:
                self.cut_lease()
            self.changed.notify_all()

    def confirmed(self, active: Active) -> None:
        """The server has its end, or will have none of it."""
        with self.changed:
            key = (active.run.id, active.run.lease)
            if self.held.get(key) is active:
                del self.held[key]
            self.changed.notify_all()

    def lost(self, node: Node) -> None:
        """The server does not know the node any more: what it ran may be somebody else's by now."""
        with self.changed:
            if node.lost:
                return
            node.lost = True
            dropped: List[Active] = list(self.held.values())
            self.held.clear()
            self.ends.clear()
            if self.node is node:
                self.node = None
            for active in dropped:
                active.decided = True
                active.run._stop("lost")
            self.cut_lease()
            self.changed.notify_all()
        log.warning("node %s is lost: %d jobs are dropped, others may run them", node.id, len(dropped))

    def tell_all(self, why: str) -> None:
        """Tells every handler to stop."""
        with self.changed:
            for active in self.running:
                active.run._stop(why)

    def give_back_all(self) -> int:
        """Ends what has not ended; how many runs that were."""
        with self.changed:
            left = [active for active in self.running if not active.decided]
        return sum(self.decide(active, {"end": "give_back"}) for active in left)

    def unfinished(self) -> int:
        """Runs of which it is not said how they ended."""
        return sum(not active.decided for active in self.running)


def work(desk: Desk, active: Active, handler: Callable[[Run], Any]) -> None:
    """One run, on its own thread."""
    run = active.run
    try:
        try:
            end = outcomes.of_return(handler(run))
        except BaseException as error:  # a handler that calls sys.exit has failed, too
            end = outcomes.of_raise(error, run.why is not None)
            if end["end"] == "fail":
                log.warning("job %s (%s) failed in attempt %d", run.id, run.kind, run.attempt, exc_info=error)
        if not desk.decide(active, end):
            log.warning("job %s (%s) returned after its end (%s); that is dropped", run.id, run.kind, run.why)
    finally:
        desk.returned(active)
