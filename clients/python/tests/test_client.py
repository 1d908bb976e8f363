"""The client against a server that misbehaves."""

import pickle
import time
import traceback
import unittest
from datetime import datetime, timedelta, timezone

from fake import TOKEN, Server
from longshore_client import (
    Client,
    Enqueued,
    Invalid,
    LongshoreError,
    NewJob,
    NotAllowed,
    NotEnded,
    NotFound,
    RawJson,
    Refused,
    Unavailable,
)


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server().__enter__()
        self.addCleanup(self.server.__exit__)
        self.client = Client(self.server.url, TOKEN, retry_for=5.0)
        self.addCleanup(self.client.close)

    def test_a_repeat_after_a_lost_answer_adds_nothing(self) -> None:
        self.server.fail("POST /jobs$", "lose", times=2)
        added = self.client.enqueue("k", {"n": 1})
        keys = {headers.get("idempotency-key") for _, path, _, headers in self.server.requests if path == "/jobs"}
        self.assertEqual(len(self.server.asked("POST /jobs$")), 3)
        self.assertEqual(len(keys), 1)
        self.assertEqual(list(self.server.jobs), [added.id])

    def test_each_call_is_a_job_of_its_own(self) -> None:
        self.assertNotEqual(self.client.enqueue("k").id, self.client.enqueue("k").id)

    def test_a_repeat_of_a_partial_batch_adds_nothing(self) -> None:
        self.server.fail("POST /jobs/batch", "lose")
        answers = self.client.enqueue_many([NewJob("k"), NewJob("k")], partial=True)
        self.assertEqual([type(a) for a in answers], [Enqueued, Enqueued])
        self.assertEqual([a.duplicate for a in answers if isinstance(a, Enqueued)], [False, False])
        first, again = self.server.asked("POST /jobs/batch")
        self.assertEqual(first, again)

    def test_an_answer_cut_in_its_middle_is_asked_for_again(self) -> None:
        self.server.fail("POST /jobs$", "half")
        self.assertIn(self.client.enqueue("k").id, self.server.jobs)

    def test_retry_after_is_heeded(self) -> None:
        self.server.fail("POST /jobs$", "say", status=503, headers={"Retry-After": "1"}, body={"code": "unavailable"})
        began = time.monotonic()
        self.client.enqueue("k")
        self.assertGreaterEqual(time.monotonic() - began, 1.0)

    def test_it_gives_up_in_time_and_says_how_often_it_tried(self) -> None:
        client = Client(self.server.url, TOKEN, retry_for=0.5)
        self.server.fail("POST /jobs$", "cut", times=1000)
        began = time.monotonic()
        with self.assertRaisesRegex(Unavailable, r"hung up before .* gave up after \d+ tries in 0.5 s"):
            client.enqueue("k")
        self.assertLess(time.monotonic() - began, 2.0)
        # A server that wants to be left alone for longer than that is not asked again.
        self.server.faults.clear()
        self.server.fail("POST /jobs$", "say", status=429, headers={"Retry-After": "60"})
        before = len(self.server.requests)
        with self.assertRaises(Unavailable) as caught:
            client.enqueue("k")
        self.assertEqual((len(self.server.requests) - before, caught.exception.retry_after), (1, 60.0))

    def test_nobody_listens(self) -> None:
        client = Client("http://127.0.0.1:9", TOKEN, retry_for=0.2)
        with self.assertRaisesRegex(Unavailable, "could not reach http://127.0.0.1:9: Connection refused"):
            client.get("x")

    def test_a_refusal_is_not_repeated_and_says_all_of_it(self) -> None:
        body = {
            "code": "invalid",
            "detail": "priority is 10; it may be 0 to 9",
            "request_id": "abc",
            "errors": [{"pointer": "/priority", "detail": "priority is 10; it may be 0 to 9"}],
        }
        self.server.fail("POST /jobs$", "say", status=422, body=body)
        with self.assertRaises(Invalid) as caught:
            self.client.enqueue("k", priority=10)
        error = caught.exception
        self.assertEqual((error.status, error.code, error.request_id), (422, "invalid", "abc"))
        self.assertEqual((error.faults[0].pointer, error.faults[0].detail), ("/priority", body["detail"]))
        self.assertEqual(str(error), "priority is 10; it may be 0 to 9 (request abc)")
        self.assertEqual(len(self.server.requests), 1)
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(copy), copy.code), (str(error), "invalid"))

    def test_errors_are_sorted(self) -> None:
        for status, kind in ((401, NotAllowed), (403, NotAllowed), (404, NotFound), (409, Refused), (413, Invalid)):
            self.server.fail("GET /jobs", "say", status=status, body="<html>a proxy</html>")
            with self.assertRaises(kind) as caught:
                self.client.get("x")
            assert isinstance(caught.exception, (NotAllowed, NotFound, Refused, Invalid))
            self.assertEqual(caught.exception.code, f"http_{status}")

    def test_a_cancel_whose_answer_was_lost_is_no_error(self) -> None:
        id = self.server.add("k")
        self.server.fail("POST /jobs/.*/cancel", "lose")
        self.assertEqual(self.client.cancel(id).state, "cancelled")
        with self.assertRaises(Refused):
            self.client.cancel(id)

    def test_the_token_is_shown_nowhere(self) -> None:
        secret = "lsh_very_secret"
        client = Client(self.server.url, secret, retry_for=0.1)
        said = [repr(client), str(vars(client)), repr(client._http)]
        for one in (client, Client("http://127.0.0.1:9", secret, retry_for=0)):
            try:
                one.get("x")
            except LongshoreError:
                said.append(traceback.format_exc())
        with self.assertRaises(ValueError) as caught:
            Client(self.server.url, secret + "\r\nX: y")
        said.append(str(caught.exception))
        with self.assertRaises(ValueError) as caught:
            Client(f"http://me:{secret}@host", "")
        said.append(str(caught.exception))
        self.assertNotIn(secret, "".join(said))

    def test_urls_that_are_none_are_refused(self) -> None:
        for url in ("localhost:7878", "ftp://host", "http://", "http://host/?q", "http://host/#f"):
            with self.assertRaises(ValueError, msg=url):
                Client(url)

    def test_a_wait_outlasts_the_patience_of_one_request(self) -> None:
        id = self.server.add("k")
        client = Client(self.server.url, TOKEN, timeout=0.5)
        with self.assertRaises(NotEnded):
            client.wait(id, 0.8)
        waits = [float(path.split("timeout=")[1][:-2]) for _, path, _, _ in self.server.requests]
        self.assertLessEqual(max(waits), 250)

    def test_options_are_said_as_the_api_wants_them(self) -> None:
        job = NewJob(
            "k",
            {"n": 12345678901234567890123},
            run_at=datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))),
            timeout=timedelta(milliseconds=1500),
            retain=0,
            unique_within="1d",
            tags=["a"],
        )
        body = job.body()
        self.assertEqual(body["payload"], '{"n":12345678901234567890123}')
        self.assertEqual((body["run_at"], body["timeout"]), ("2030-01-02T01:04:05Z", "1500ms"))
        self.assertEqual((body["retain"], body["unique_within"], body["tags"]), ("0ms", "1d", ["a"]))
        self.assertEqual(set(body), {"kind", "payload", "run_at", "timeout", "retain", "unique_within", "tags"})
        for bad in (NewJob("k", run_at=datetime(2030, 1, 1)), NewJob("k", timeout=-1), NewJob("k", float("nan"))):
            with self.assertRaises(ValueError):
                bad.body()
        with self.assertRaises(TypeError):
            NewJob("k", tags="ab").body()

    def test_numbers_go_through_as_they_are(self) -> None:
        self.client.enqueue("k", RawJson('{"price": 0.10, "n": 123456789012345678901234567890}'))
        self.client.enqueue("k", 10**40)
        sent = [job["payload"] for job in self.server.jobs.values()]
        self.assertEqual(sent[1], str(10**40))
        self.assertIn("123456789012345678901234567890", sent[0])
        with self.assertRaises(ValueError):
            RawJson('1, "kind": "other"')


if __name__ == "__main__":
    unittest.main()
