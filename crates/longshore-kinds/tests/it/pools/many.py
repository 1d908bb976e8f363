"""Answers whatever it is asked out of order, when it has three."""

import json
import sys

held = []
for line in sys.stdin:
    job = json.loads(line)
    if job["payload"] == "hang":
        continue
    held.append(job)
    if len(held) == 3:
        for job in reversed(held):
            print(json.dumps({"id": job["id"], "output": job["payload"]}), flush=True)
        held = []
