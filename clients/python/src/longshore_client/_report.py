"""The loop that hands in how runs ended and what they say: what has gathered goes out together."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from . import _json, outcomes
from ._desk import Active, Desk, Node, log
from ._patience import Patience, now
from ._wire import Wire
from .errors import ApiError, Invalid, NodeLost, Unavailable
from .run import Run

# Of one request. Bodies may have 2 MiB; one end alone fits with the largest output.
_MOST = 100
_BYTES = 1 << 20
# Lines of one run in one request, and how often a run is heard, in seconds.
_LINES = 250
_OFFERS = 5  # all that a run keeps
_MOST_SAYS = 4  # the server takes 1,000 lines in all
_EVERY = 1.0


class Reporter:
    """Ends are repeated until they are answered; words of runs give way."""

    def __init__(self, desk: Desk, wire: Wire) -> None:
        self._desk, self._wire = desk, wire
        self._patience = Patience()
        self._said_at = 0.0
        self._news = False

    def tell(self) -> None:
        """A run has said something."""
        self._news = True

    def loop(self) -> None:
        """Until the worker has left."""
        desk = self._desk
        while True:
            with desk.changed:
                desk.changed.wait_for(lambda: desk.closed or self._is_due(), 0.25)
                if desk.closed:
                    return
                node = desk.node
            if node is None or not self._is_due():
                continue
            pause: Optional[float] = None
            try:
                self._round(node)
                self._patience.reset()
            except NodeLost:
                desk.lost(node)
            except Unavailable as error:
                pause = self._patience.next(error.retry_after)
                log.warning("ends of runs wait: %s; again in %.1f s", error, pause)
            except Exception as error:
                pause = self._patience.next()
                log.warning("ends of runs wait: %s; again in %.1f s", error, pause)
            if pause is not None:
                with desk.changed:
                    desk.changed.wait_for(lambda: desk.closed or desk.node is not node, pause)

    def _is_due(self) -> bool:
        """Nothing is handed in while the lease may be over: the heartbeat comes first."""
        node = self._desk.node
        if node is None or not node.is_fresh():
            return False
        return bool(self._desk.ends) or (self._news and now() >= self._said_at + _EVERY)

    def _round(self, node: Node) -> None:
        batch = self._batch(node)
        self._say(node, batch)
        if batch:
            self._end(node, batch)

    def _batch(self, node: Node) -> List[Tuple[Active, _json.RawJson]]:
        """The next ends; they stay where they are until they are answered."""
        # A job once: it may have ended, come back and ended again while the first of these ends was not answered.
        waiting: Dict[str, Active] = {}
        with self._desk.changed:
            for active in self._desk.ends:
                if active.node is node and len(waiting) < _MOST:
                    waiting.setdefault(active.run.id, active)
        batch: List[Tuple[Active, _json.RawJson]] = []
        size = 0
        for active in waiting.values():
            text = _json.write({"job": active.run.id, "lease": active.run.lease, **(active.end or {})})
            size += len(text.encode())
            if batch and size > _BYTES:
                break
            batch.append((active, _json.RawJson._trusted(text)))
        return batch

    def _say(self, node: Node, batch: List[Tuple[Active, _json.RawJson]]) -> None:
        """Last words of runs that end, before their ends; and now and then those of the others."""
        runs = [active.run for active, _ in batch]
        if self._news and now() >= self._said_at + _EVERY:
            self._news, self._said_at = False, now()
            with self._desk.changed:
                runs += [a.run for a in self._desk.running if a.node is node and not a.decided]
        # So often each is asked at most: one that never stops speaking must not hold up the ends of others.
        asked: Dict[Run, int] = {}
        while True:
            offers: List[Tuple[Run, Dict[str, Any]]] = []
            size = 0
            for run in runs:
                said = run._offer(_LINES) if asked.get(run, 0) < _OFFERS else None
                if said is None:
                    continue
                asked[run] = asked.get(run, 0) + 1
                size += len(_json.write(said).encode())
                if offers and size > _BYTES:
                    break
                offers.append((run, said))
                if len(offers) == _MOST_SAYS:
                    break
            if not offers:
                return
            try:
                self._wire.say(node.id, [said for _, said in offers])
            except NodeLost:
                raise
            except ApiError as error:
                # Ends do not wait for words that cannot be had.
                log.warning("words of %d runs are lost: %s", len(offers), error)
            for run, said in offers:
                run._taken(said)

    def _end(self, node: Node, batch: List[Tuple[Active, _json.RawJson]]) -> None:
        try:
            answers = self._wire.end(node.id, [text for _, text in batch])
        except Invalid as error:
            self._mend(node, batch, error)
            return
        except Unavailable:
            for active, _ in batch:
                active.sent = True
            raise
        for (active, _), answer in zip(batch, answers):
            if answer.get("lost") and active.sent:
                log.info("the end of job %s was written before, or came too late", active.run.id)
            elif answer.get("lost"):
                log.warning("the end of job %s came too late: it is somebody else's by now", active.run.id)
            self._done(active)

    def _mend(self, node: Node, batch: List[Tuple[Active, _json.RawJson]], error: ApiError) -> None:
        """The server will not take one of these ends. Alone, the bad one is found; its run has failed then."""
        if len(batch) > 1:
            for one in batch:
                self._end(node, [one])
            return
        active = batch[0][0]
        if active.mended:
            log.error("job %s: nothing that was said of its end was taken: %s", active.run.id, error)
            self._done(active)
            return
        log.error("job %s: how it ended was refused, so it failed: %s", active.run.id, error)
        active.mended = True
        active.end = outcomes.failed(f"the server refused how the run ended: {error.detail}")

    def _done(self, active: Active) -> None:
        with self._desk.changed:
            try:
                self._desk.ends.remove(active)
            except ValueError:
                pass  # the node was lost meanwhile
        self._desk.confirmed(active)
