"""A worker for tests that kill it, its server, or both. What it does it writes to the file RUNS, a JSON line each."""

import json
import logging
import os
import time
from typing import Any

from longshore_client import Cancel, Client, Dead, RawJson, RetryIn, Run, Snooze, Throttle, Worker

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
client = Client(os.environ["LONGSHORE_URL"], os.environ["LONGSHORE_TOKEN"])
worker = Worker(
    client,
    queues={"default": int(os.environ.get("SLOTS", "4"))},
    name=os.environ.get("NAME", "python"),
    lease=float(os.environ.get("LEASE", "60")),
    grace=float(os.environ.get("GRACE", "25")),
)
runs = os.open(os.environ["RUNS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def note(run: Run, event: str, **more: Any) -> None:
    line = {"event": event, "job": run.id, "attempt": run.attempt, "pid": os.getpid(), "at": time.time(), **more}
    os.write(runs, (json.dumps(line) + "\n").encode())


@worker.handler("count")
def count(run: Run) -> Any:
    """Takes `ms`, and answers its payload."""
    note(run, "began")
    try:
        run.sleep(run.payload["ms"] / 1000)
        return RawJson(run.payload_text)
    finally:
        note(run, "ended")


@worker.handler("hold")
def hold(run: Run) -> None:
    """Until it is told to stop."""
    note(run, "began")
    run.cancelled.wait()
    note(run, "told", why=run.why)
    run.check()


@worker.handler("deaf")
def deaf(run: Run) -> str:
    """Heeds nothing."""
    note(run, "began")
    time.sleep(run.payload["ms"] / 1000)
    note(run, "ended", why=run.why)
    return "late"


@worker.handler("outcome")
def outcome(run: Run) -> Any:
    """What the payload names, the first time."""
    run.progress(0.5, "half")
    run.log("here", level="warn", n=run.attempt)
    how, mark = run.payload["how"], run.payload["mark"]
    first = not os.path.exists(mark)
    open(mark, "w").close()
    if how == "snooze" and first:
        raise Snooze(0.2)
    if how == "throttle" and first:
        return Throttle(0.2)
    if how == "retry" and run.attempt == 1:
        raise RetryIn(0.2, "once more")
    if how == "cancel":
        return Cancel("not wanted")
    if how == "dead":
        raise Dead("never")
    if how == "fail":
        raise TypeError("x") from RuntimeError("y")
    return {"attempt": run.attempt, "n": 123456789012345678901234567890}


worker.run()
