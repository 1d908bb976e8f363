"""Sends receipts: `python receipts.py work` in one terminal, `python receipts.py send 7` in another."""

import logging
import os
import sys

from longshore_client import Client, Dead, Run, Snooze, Worker

client = Client(os.environ["LONGSHORE_URL"], os.environ["LONGSHORE_TOKEN"])
worker = Worker(client, queues={"default": 4}, name="receipts")


@worker.handler("send_receipt")
def send_receipt(run: Run) -> object:
    order = run.payload["order"]
    if order < 0:
        raise Dead(f"there is no order {order}")  # no further attempt
    if order == 0 and run.attempt == 1:
        return Snooze(30)  # not ready yet: again in 30 s
    run.progress(0.5, "written")
    run.check()  # ends here if somebody has cancelled the job
    run.log("sent", order=order)
    return {"sent": order}  # the job's output


if sys.argv[1:2] == ["send"]:
    job = client.enqueue("send_receipt", {"order": int(sys.argv[2])}, timeout=60)
    print(client.wait(job.id, timeout=30).output)
else:
    logging.basicConfig(level=logging.INFO)
    worker.run()  # until SIGTERM or ctrl-C
