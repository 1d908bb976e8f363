"""The loops that keep a node alive: heartbeats, which bring cancels, and the clock of timeouts."""

from __future__ import annotations

from typing import Any, Dict, Optional

from . import outcomes
from ._desk import Desk, Node, log
from ._http import HangUp
from ._patience import Patience, now
from ._wire import Wire
from .errors import NodeLost, Unavailable

# The server answers at once while a cancel is open, so there is a pause after each answer.
_LEAST = 0.4
# So long a heartbeat that was late may take until runs are told: the machine may just have woken up.
_LAST_CHANCE = 1.0


class Heart:
    """Renews the lease; an answer may wait at the server until a cancel comes."""

    def __init__(self, desk: Desk, wire: Wire, wait: float) -> None:
        self._desk, self._wire, self._wait = desk, wire, wait
        self._patience = Patience(longest=2.0)
        self._hang_up: Optional[HangUp] = None

    def loop(self) -> None:
        """Until the worker has left."""
        desk = self._desk
        while True:
            with desk.changed:
                desk.changed.wait_for(lambda: desk.closed or desk.node is not None)
                if desk.closed or desk.node is None:
                    return
                node = desk.node
            pause = _LEAST
            try:
                self._beat(node)
                self._patience.reset()
            except NodeLost:
                desk.lost(node)
                continue
            except Unavailable as error:
                pause = self._patience.next(error.retry_after)
                if self._hang_up is None or not self._hang_up.asked:
                    log.warning("no heartbeat: %s; again in %.1f s", error, pause)
            except Exception as error:
                pause = self._patience.next()
                log.warning("no heartbeat: %s; again in %.1f s", error, pause)
            with desk.changed:
                desk.changed.wait_for(lambda: desk.closed, pause)

    def _beat(self, node: Node) -> None:
        desk = self._desk
        with desk.changed:
            hang_up = self._hang_up = HangUp()
            state = desk.state()
            # After a silence it must know at once where it stands; and one that stops hears of no long wait.
            wait = min(node.lease / 3, self._wait) if node.is_fresh() and not desk.stopping else 0.0
        sent_at = now()
        said = self._wire.beat(node.id, state, wait, hang_up)
        self._heard(node, sent_at, said)

    def _heard(self, node: Node, sent_at: float, said: Dict[str, Any]) -> None:
        desk = self._desk
        with desk.changed:
            node.good_at = sent_at
            node.lease = said.get("lease_ms", node.lease * 1000) / 1000
            node.stale_since, node.warned = None, False
            desk.quiet = said.get("wish") == "quiet"
            desk.wish_to_stop = desk.wish_to_stop or said.get("wish") == "stop"
            asked = set(said.get("cancel") or ())
            told = [active.run for active in desk.running if active.run.id in asked and active.node is node]
            desk.changed.notify_all()
        for run in told:
            run._stop("cancel")

    def cut(self) -> None:
        """Ends a heartbeat that waits, so that the next goes out."""
        if self._hang_up is not None:
            self._hang_up()


class Watch:
    """Looks at the clock: runs that take too long, and a lease that nobody has renewed."""

    def __init__(self, desk: Desk, heart: Heart) -> None:
        self._desk, self._heart = desk, heart

    def loop(self) -> None:
        """Until the worker has left."""
        desk = self._desk
        while True:
            with desk.changed:
                if desk.closed:
                    return
                at = now()
                limits = [a.run._until for a in desk.running if a.run._until is not None and not a.decided]
                desk.changed.wait(max(0.0, min([1.0] + [limit - at for limit in limits])))
            self._late()
            self._stale()

    def _late(self) -> None:
        desk, at = self._desk, now()
        with desk.changed:
            late = [
                active
                for active in desk.running
                if active.run._until is not None and active.run._until <= at and not active.decided
            ]
        for active in late:
            limit = shown(active.run.timeout or 0.0)
            end = outcomes.failed(f"ran longer than its timeout of {limit}")
            if desk.decide(active, end):
                active.run._stop("timeout")
                log.warning("job %s (%s) is over its timeout of %s; told to stop", active.run.id, active.run.kind, limit)

    def _stale(self) -> None:
        desk = self._desk
        with desk.changed:
            node = desk.node
            if node is None or node.is_fresh() or node.warned:
                return
            first = node.stale_since is None
            node.stale_since = now() if node.stale_since is None else node.stale_since
            node.warned = now() >= node.stale_since + _LAST_CHANCE
            told = [active.run for active in desk.running if active.node is node]
        if first:
            # The one under way may wait at a server that is gone.
            self._heart.cut()
        if not node.warned:
            return
        log.warning("no heartbeat was answered in time: %d runs are told to stop", len(told))
        for run in told:
            run._stop("lost")


def shown(seconds: float) -> str:
    """`500ms`, `1.5s`, as everywhere in Longshore."""
    return f"{seconds * 1000:g}ms" if seconds < 1 else f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"
