"""The requests of a worker, one function each: below `/work/nodes`, not repeated here."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _json
from ._http import HangUp
from .client import Client

# What an answer may take beyond the wait that was asked for, in seconds.
_SLACK = 15.0


class Wire:
    """Speaks for one worker."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def _post(self, path: str, body: Mapping[str, Any], wait: float = 0.0, hang_up: Optional[HangUp] = None) -> str:
        answer = self._client.ask_once(
            "POST", f"/work/nodes{path}", _json.write(body), timeout=wait + _SLACK, hang_up=hang_up
        )
        return answer.body.decode("utf-8")

    def join(self, body: Mapping[str, Any]) -> Dict[str, Any]:
        """A node's id, lease and heartbeat."""
        said: Dict[str, Any] = _json.loads(self._post("", body))
        return said

    def lease(
        self, node: str, queues: Mapping[str, int], limit: int, holds: Sequence[str], wait: float, hang_up: HangUp
    ) -> Tuple[Dict[str, Any], List[Tuple[Dict[str, Any], str]]]:
        """What else the answer says, and jobs with the texts of their payloads."""
        body = {
            "queues": [{"queue": queue, "limit": free} for queue, free in queues.items()],
            "limit": limit,
            "holds": list(holds),
            "wait_ms": round(wait * 1000),
        }
        return _json.jobs_of(self._post(f"/{node}/lease", body, wait, hang_up))

    def beat(self, node: str, state: str, wait: float, hang_up: HangUp) -> Dict[str, Any]:
        """Renews the lease of all that the node holds."""
        body = {"state": state, "wait_ms": round(wait * 1000)}
        said: Dict[str, Any] = _json.loads(self._post(f"/{node}/heartbeat", body, wait, hang_up))
        return said

    def end(self, node: str, ends: Sequence[_json.RawJson]) -> List[Dict[str, Any]]:
        """How runs ended; the answers, in order."""
        answers: List[Dict[str, Any]] = _json.loads(self._post(f"/{node}/end", {"ends": list(ends)}))["answers"]
        return answers

    def say(self, node: str, says: Sequence[Mapping[str, Any]]) -> List[Dict[str, Any]]:
        """What runs say while they run."""
        answers: List[Dict[str, Any]] = _json.loads(self._post(f"/{node}/say", {"says": list(says)}))["answers"]
        return answers

    def leave(self, node: str) -> None:
        """What it still holds is given to others at once."""
        self._client.ask_once("DELETE", f"/work/nodes/{node}", timeout=_SLACK)
