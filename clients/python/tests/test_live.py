"""Against a real server: LONGSHORE_TEST_URL and LONGSHORE_TEST_TOKEN (an admin's) name it. No other worker may run."""

import os
import threading
import time
import unittest
import uuid
from datetime import datetime, timedelta, timezone
from typing import Any

from longshore_client import (
    NO_TIMEOUT,
    Backoff,
    Cancel,
    Client,
    Dead,
    Enqueued,
    Invalid,
    NewJob,
    NotAdded,
    NotAllowed,
    NotEnded,
    NotFound,
    RawJson,
    Refused,
    RetryIn,
    Run,
    Snooze,
    Worker,
)

URL = os.environ.get("LONGSHORE_TEST_URL", "")
TOKEN = os.environ.get("LONGSHORE_TEST_TOKEN", "")


@unittest.skipUnless(URL, "LONGSHORE_TEST_URL names no server")
class LiveTest(unittest.TestCase):
    def setUp(self) -> None:
        self.client = Client(URL, TOKEN)
        self.addCleanup(self.client.close)

    def test_every_option_arrives(self) -> None:
        id = str(uuid.uuid4())
        due = datetime(2040, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)
        added = self.client.enqueue(
            "never",
            RawJson('{"n": 12345678901234567890123,  "secret": "x"}'),
            queue="nobody's",
            priority=2,
            run_at=due,
            max_attempts=3,
            backoff=Backoff.fixed(1.5),
            timeout=timedelta(minutes=2),
            retain="3d",
            tags=["a", "b"],
            meta={"from": "tests"},
            unique_key=f"key-{id}",
            unique_within=timedelta(days=1),
            on_conflict="refuse",
            id=id,
            payload_version=7,
            redacted=["mail"],
            traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        )
        self.assertEqual(added, Enqueued(id, False, False))
        job = self.client.get(id)
        self.assertEqual((job.kind, job.queue, job.priority, job.state), ("never", "nobody's", 2, "scheduled"))
        self.assertEqual((job.run_at, job.max_attempts, job.tags), (due, 3, ("a", "b")))
        self.assertEqual(job.payload["n"], 12345678901234567890123)
        self.assertEqual(job.raw["backoff"], {"fixed": {"delay_ms": 1500}})
        self.assertEqual((job.raw["timeout_ms"], job.raw["retain_ms"]), (120_000, 3 * 86_400_000))
        self.assertEqual((job.raw["payload_version"], job.raw["redacted"]), (7, ["mail"]))
        self.assertEqual(job.meta and job.meta["from"], "tests")
        with self.assertRaises(Refused) as caught:
            self.client.enqueue("never", 1, run_at=due, unique_key=f"key-{id}", unique_within="1d", on_conflict="refuse")
        self.assertEqual(caught.exception.code, "key_held")
        self.assertTrue(self.client.enqueue("never", id=id, payload=RawJson('{"n": 12345678901234567890123,  "secret": "x"}')).duplicate)
        forever = self.client.enqueue("never", timeout=NO_TIMEOUT, unique_key=id, unique_for_good=True, run_in="1h")
        self.assertIsNone(self.client.get(forever.id).raw["timeout_ms"])

    def test_a_key_of_ones_own(self) -> None:
        key = uuid.uuid4().hex
        first = self.client.enqueue("never", 1, idempotency_key=key)
        self.assertEqual(self.client.enqueue("never", 1, idempotency_key=key), first)
        with self.assertRaises(Invalid) as caught:
            self.client.enqueue("never", 2, idempotency_key=key)
        self.assertEqual(caught.exception.code, "key_reused")

    def test_faults_have_their_places(self) -> None:
        with self.assertRaises(Invalid) as caught:
            self.client.enqueue("never", priority=10)
        error = caught.exception
        self.assertEqual((error.status, error.faults[0].pointer), (422, "/priority"))
        self.assertIn("priority is 10; it may be 0 to 9", error.detail)
        self.assertTrue(error.request_id)
        with self.assertRaises(Invalid) as caught:
            self.client.enqueue_many([NewJob("never"), NewJob("never", priority=10)])
        self.assertEqual(caught.exception.faults[0].pointer, "/jobs/1/priority")
        with self.assertRaises(NotAllowed):
            Client(URL, "lsh_" + "0" * 64).get("x")
        with self.assertRaises(NotFound):
            self.client.get(str(uuid.uuid4()))

    def test_many(self) -> None:
        answers = self.client.enqueue_many(NewJob("never", n) for n in range(2500))
        self.assertEqual(len({answer.id for answer in answers}), 2500)
        self.assertEqual(self.client.get(answers[2345].id).payload, 2345)
        some = self.client.enqueue_many([NewJob("never"), NewJob("never", priority=10), NewJob("never")], partial=True)
        self.assertEqual([type(answer) for answer in some], [Enqueued, NotAdded, Enqueued])

    def test_wait_cancel_and_retry(self) -> None:
        id = self.client.enqueue("never", max_attempts=1).id
        with self.assertRaises(NotEnded) as caught:
            self.client.wait(id, 0.2)
        self.assertEqual(caught.exception.job.state, "queued")
        self.assertEqual(self.client.cancel(id, "not wanted").state, "cancelled")
        self.assertEqual(self.client.wait(id, 5).state, "cancelled")
        self.assertEqual(self.client.retry(id, attempts=2, payload={"again": True}).state, "queued")
        self.assertEqual(self.client.get(id).payload, {"again": True})

    def test_a_worker_and_its_outcomes(self) -> None:
        client = self.client
        worker = Worker(client, {"python": 4}, name="live", version="1.2.3")
        seen = threading.Event()

        @worker.handler("big", description="echoes", schema={"type": "object"})
        def big(run: Run) -> Any:
            run.progress(0.5, "half")
            run.log("here", level="warn", n=1)
            return {"n": run.payload["n"], "text": run.payload_text, "meta": run.meta}

        @worker.handler("outcome")
        def outcome(run: Run) -> Any:
            if run.payload == "snooze" and not seen.is_set():
                seen.set()
                raise Snooze(0.1)
            if run.payload == "retry" and run.attempt == 1:
                return RetryIn(0.1, "once more")
            if run.payload == "dead":
                raise Dead("never")
            if run.payload == "cancel":
                return Cancel("not wanted")
            if run.payload == "fail":
                raise ValueError("no") from KeyError("x")
            return run.attempt

        @worker.handler("long")
        def long(run: Run) -> None:
            run.sleep(60)

        worker.start()
        try:
            text = '{"n": 123456789012345678901234567890,  "x": 1.50}'
            id = client.enqueue("big", RawJson(text), queue="python", meta={"a": 1}).id
            job = client.wait(id, 20)
            self.assertEqual(job.state, "succeeded", job.errors)
            self.assertEqual((job.output["n"], job.output["text"]), (123456789012345678901234567890, text))
            logs = client.ask("GET", f"/jobs/{id}/logs").body.decode()
            self.assertIn('"here"', logs)
            expected = [
                ("snooze", "succeeded", 1, 1),
                ("retry", "succeeded", 2, 2),
                ("dead", "dead", None, 1),
                ("cancel", "cancelled", None, 1),
                ("fail", "dead", None, 1),
            ]
            for how, state, output, attempt in expected:
                attempts = 1 if how == "fail" else 5
                job = client.wait(client.enqueue("outcome", how, queue="python", max_attempts=attempts).id, 20)
                self.assertEqual((job.state, job.output, job.attempt), (state, output, attempt), how)
            self.assertEqual((job.errors[0].message, job.errors[0].chain), ("ValueError: no", ("KeyError: 'x'",)))
            late = client.wait(client.enqueue("long", queue="python", timeout=0.5, max_attempts=1).id, 20)
            self.assertEqual((late.state, late.errors[0].message), ("dead", "ran longer than its timeout of 500ms"))
            id = client.enqueue("long", queue="python").id
            while client.get(id).state != "running":
                time.sleep(0.02)
            began = time.monotonic()
            client.cancel(id, "enough")
            self.assertEqual(client.wait(id, 20).state, "cancelled")
            self.assertLess(time.monotonic() - began, 1.5)
            again = client.enqueue("long", queue="python").id
            while client.get(again).state != "running":
                time.sleep(0.02)
        finally:
            worker.stop(grace=0.1)
        job = client.get(again)
        self.assertEqual((job.state, job.attempt), ("queued", 0), "given back, and the attempt does not count")


if __name__ == "__main__":
    unittest.main()
