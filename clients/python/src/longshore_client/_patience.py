"""How long to wait before asking again, and a clock that goes on while the machine sleeps."""

from __future__ import annotations

import random
import sys
import time
from typing import Optional

_FIRST = 0.1
_LONGEST = 5.0

if sys.platform == "linux":

    def now() -> float:
        """Seconds of a clock that never goes back and counts sleep (Linux's `monotonic` does not count it)."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

elif sys.platform == "win32":
    now = time.monotonic
else:

    def now() -> float:
        """Seconds of a clock that never goes back and counts sleep."""
        return time.clock_gettime(time.CLOCK_MONOTONIC)


class Patience:
    """Doubling pauses with jitter, never shorter than what the server asked for."""

    def __init__(self, longest: float = _LONGEST) -> None:
        self._tried = 0
        self._longest = longest

    def next(self, retry_after: Optional[float] = None) -> float:
        """Seconds until the next try."""
        pause = min(self._longest, _FIRST * 2.0 ** min(self._tried, 20)) * random.uniform(0.5, 1.0)
        self._tried += 1
        if retry_after is None:
            return pause
        # All who were told the same would come in the same moment.
        return max(pause, min(retry_after, 60.0) * random.uniform(1.0, 1.2))

    def reset(self) -> None:
        """It worked: the next pause is short again."""
        self._tried = 0
