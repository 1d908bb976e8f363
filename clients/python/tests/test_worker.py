"""The worker against a server that misbehaves."""

import logging
import threading
import time
import unittest
from typing import Any, Callable, Dict, List, Optional

from fake import TOKEN, Server
from longshore_client import Cancel, Client, Dead, NotAllowed, RetryIn, Run, Snooze, Stopped, Throttle, Worker
from longshore_client._beat import shown

logging.getLogger("longshore_client").setLevel(logging.CRITICAL)


class WorkerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server().__enter__()
        self.addCleanup(self.server.__exit__)
        self.client = Client(self.server.url, TOKEN)
        self.let_go = threading.Event()
        self.runs: List[Run] = []
        self.workers: List[Worker] = []
        self.addCleanup(self.stop)

    def stop(self) -> None:
        self.let_go.set()
        for worker in self.workers:
            worker.stop(grace=0)

    def worker(self, slots: int = 4, start: bool = True, **options: Any) -> Worker:
        options = {"queues": {"default": slots}, "lease": 60, **options}
        worker = Worker(self.client, **options)

        @worker.handler("echo")
        def echo(run: Run) -> Any:
            self.runs.append(run)
            return {"payload": run.payload, "attempt": run.attempt}

        @worker.handler("hold")
        def hold(run: Run) -> Any:
            self.runs.append(run)
            while not self.let_go.is_set():
                run.sleep(0.01)
            return "let go"

        @worker.handler("deaf")
        def deaf(run: Run) -> Any:
            self.runs.append(run)
            self.let_go.wait(20)
            return "late"

        if start:
            worker.start()
            self.workers.append(worker)
        return worker

    def ends(self, id: str) -> List[Dict[str, Any]]:
        return [end for job, end in self.server.ended if job == id]

    def one_end(self, id: str, longest: float = 10.0) -> Dict[str, Any]:
        end: Dict[str, Any] = self.server.until(lambda: self.ends(id), longest)[0]
        return end

    def sent(self, id: str) -> int:
        """How often an end of the job was handed in, right or wrong."""
        return sum(end["job"] == id for body in self.server.asked("/end$") for end in body["ends"])

    def began(self, count: int = 1) -> None:
        self.server.until(lambda: len(self.runs) >= count)

    def handled(self, function: Callable[[Run], Any], timeout_ms: Optional[int] = None) -> Dict[str, Any]:
        """The end of a job that this function handles."""
        worker = self.worker(start=False)
        worker.handler("it")(function)
        worker.start()
        self.workers.append(worker)
        return self.one_end(self.server.add("it", timeout_ms=timeout_ms))

    # Outcomes

    def test_a_run_returns_its_output(self) -> None:
        self.worker()
        end = self.one_end(self.server.add("echo", '{"n": 123456789012345678901234567890}'))
        self.assertEqual((end["end"], end["output"]["payload"]), ("complete", {"n": 123456789012345678901234567890}))
        self.assertEqual(self.runs[0].payload_text, '{"n": 123456789012345678901234567890}')

    def test_what_a_handler_may_return_or_raise(self) -> None:
        cases: List[Any] = [
            (Snooze(1.5), {"end": "snooze", "delay_ms": 1500}),
            (Throttle(2), {"end": "throttle", "delay_ms": 2000}),
            (Cancel("gone"), {"end": "cancel", "reason": "gone"}),
            (Dead("never"), {"end": "fail", "error": {"message": "never"}, "dead": True}),
            (RetryIn(3, "soon"), {"end": "fail", "error": {"message": "soon"}, "retry_in_ms": 3000}),
            (Stopped(), {"end": "snooze", "delay_ms": 1000}),
            (SystemExit(3), {"end": "fail", "error": {"message": "SystemExit: 3"}}),
        ]
        worker = self.worker(start=False)

        @worker.handler("raise")
        def throw(run: Run) -> Any:
            raise cases[run.payload][0]

        @worker.handler("return")
        def give(run: Run) -> Any:
            return cases[run.payload][0]

        worker.start()
        self.workers.append(worker)
        for number, (outcome, expected) in enumerate(cases):
            ways = ["raise"] if isinstance(outcome, (SystemExit, Stopped)) else ["raise", "return"]
            for way in ways:
                id = self.server.add(way, str(number))
                end = self.one_end(id)
                self.assertEqual({key: end[key] for key in end if key not in ("job", "lease")}, expected)

    def test_an_exception_fails_with_its_causes(self) -> None:
        def broken(run: Run) -> None:
            try:
                int("x")
            except ValueError as error:
                raise TypeError("half a \ud800 letter") from error

        end = self.handled(broken)
        cause = "ValueError: invalid literal for int() with base 10: 'x'"
        self.assertEqual(end["error"], {"message": "TypeError: half a ? letter", "chain": [cause]})

    def test_an_output_that_is_none_or_too_large_leaves_a_marker(self) -> None:
        self.assertEqual(self.handled(lambda run: object())["output"]["longshore"], "output dropped")
        self.stop()
        end = self.handled(lambda run: "x" * (1 << 20))
        self.assertEqual((end["end"], end["output"]["size_bytes"]), ("complete", (1 << 20) + 2))

    def test_an_end_that_is_refused_fails_the_run(self) -> None:
        end = self.handled(lambda run: "refuse me")
        self.assertEqual(end["end"], "fail")
        self.assertIn("the server refused how the run ended", end["error"]["message"])

    def test_words_come_before_the_end(self) -> None:
        def talk(run: Run) -> None:
            run.progress(0.25, "a quarter")
            run.log("here", level="warn", n=1, odd={1, 2}.__class__)
            self.assertRaises(ValueError, run.progress, 1.5)
            self.assertRaises(ValueError, run.log, "x", "loud")

        self.handled(talk)
        said = self.server.said[0]
        self.assertEqual((said["lines"][0]["message"], said["lines"][0]["level"]), ("here", "warn"))
        self.assertEqual(said["lines"][0]["fields"]["n"], 1)
        self.assertTrue(said["progress"])
        order = [path.rsplit("/", 1)[1] for _, path, _, _ in self.server.requests if path.endswith(("/say", "/end"))]
        self.assertEqual(order[:2], ["say", "end"])

    def test_words_whose_answer_was_lost_are_said_again_under_their_number(self) -> None:
        def talk(run: Run) -> None:
            for n in range(600):
                run.log(f"line {n}")

        self.server.fail("/say$", "lose", times=2)
        self.handled(talk)
        firsts = [said["first"] for said in self.server.said]
        self.assertEqual((firsts[:3], firsts[-1]), ([0, 0, 0], 500))
        lines = {said["first"]: said["lines"] for said in self.server.said}
        texts = [line["message"] for first in sorted(lines) for line in lines[first]]
        self.assertEqual(texts, [f"line {n}" for n in range(600)])

    def test_too_many_words_give_way_and_are_counted(self) -> None:
        def talk(run: Run) -> None:
            for n in range(1500):
                run.log(f"line {n}")

        self.server.fail("/say$", "cut", times=2)
        self.handled(talk)
        texts = [line["message"] for said in self.server.said for line in said["lines"]]
        self.assertEqual((texts[0], texts[-1], len(texts)), ("… 501 lines left out", "line 1499", 1000))

    # Answers that are lost

    def test_a_lost_answer_of_a_lease_loses_no_job(self) -> None:
        id = self.server.add("echo")
        self.server.fail("/lease$", "lose")
        self.worker()
        self.assertEqual(self.one_end(id)["output"]["attempt"], 1)
        self.assertEqual(len(self.runs), 1)

    def test_a_lost_answer_of_an_end_is_asked_for_again_and_runs_nothing_twice(self) -> None:
        self.server.fail("/end$", "lose", times=3)
        self.worker()
        id = self.server.add("echo")
        self.one_end(id)
        self.server.until(lambda: len(self.server.asked("/end$")) >= 4)
        time.sleep(0.2)
        self.assertEqual((len(self.ends(id)), len(self.runs), self.server.late), (1, 1, []))

    def test_ends_are_held_while_the_server_is_away(self) -> None:
        self.server.fail("/end$", "say", times=3, status=503, headers={"Retry-After": "0.2"})
        self.worker()
        ids = [self.server.add("echo") for _ in range(8)]
        for id in ids:
            self.one_end(id)
        # What has gathered meanwhile goes out together.
        self.assertGreaterEqual(max(len(body["ends"]) for body in self.server.asked("/end$")), 4)

    def test_a_job_that_is_being_ended_is_still_held(self) -> None:
        self.server.fail("/end$", "cut", times=4)
        self.worker()
        id = self.server.add("echo")
        self.one_end(id)
        self.assertIn([id], [body["holds"] for body in self.server.asked("/lease$")])
        time.sleep(0.2)  # its end is answered
        self.one_end(self.server.add("echo"))
        self.server.until(lambda: id not in self.server.asked("/lease$")[-1]["holds"])
        self.assertEqual(len(self.runs), 2)

    def test_a_job_that_comes_twice_runs_once(self) -> None:
        self.server.forgets_holds = 1
        self.worker()
        id = self.server.add("hold")
        self.server.until(lambda: self.server.forgets_holds == 0)
        time.sleep(0.2)
        self.let_go.set()
        self.one_end(id)
        self.assertEqual(len(self.runs), 1)

    # Cancels, limits

    def test_a_cancel_arrives_within_a_second(self) -> None:
        self.worker()
        id = self.server.add("hold")
        self.began()
        began = time.monotonic()
        self.server.cancel(id)
        self.assertTrue(self.runs[0].cancelled.wait(5))
        self.assertLess(time.monotonic() - began, 1.0)
        self.assertEqual((self.one_end(id)["end"], self.runs[0].why), ("give_back", "cancel"))
        self.assertEqual(self.server.jobs[id]["state"], "cancelled")

    def test_a_cancel_that_comes_after_the_run_is_heeded_by_its_end(self) -> None:
        self.server.fail("/end$", "cut", times=3)
        self.worker()
        id = self.server.add("echo")
        self.began()
        self.server.cancel(id)
        self.one_end(id)
        self.assertEqual(self.server.jobs[id]["state"], "cancelled")
        self.one_end(self.server.add("echo"))
        self.assertEqual(self.server.late, [])

    def test_an_open_cancel_does_not_make_heartbeats_run_hot(self) -> None:
        self.worker()
        id = self.server.add("deaf")
        self.began()
        self.server.cancel(id)
        self.runs[0].cancelled.wait(5)
        before = len(self.server.asked("/heartbeat$"))
        time.sleep(1.5)
        self.assertLess(len(self.server.asked("/heartbeat$")) - before, 6)

    def test_a_run_over_its_timeout_ends_and_what_it_returns_later_is_dropped(self) -> None:
        self.worker(slots=1)
        id = self.server.add("deaf", timeout_ms=300)
        after = self.server.add("echo")
        end = self.one_end(id)
        self.assertEqual((end["end"], end["error"]["message"]), ("fail", "ran longer than its timeout of 300ms"))
        self.assertEqual(self.runs[0].why, "timeout")
        self.assertIsNotNone(self.runs[0].deadline)
        time.sleep(0.3)
        self.assertEqual(len(self.runs), 1, "its slot is taken while its thread goes on")
        self.let_go.set()
        self.one_end(after)
        time.sleep(0.2)
        self.assertEqual((self.sent(id), self.server.late), (1, []))

    def test_spans_are_shown_as_everywhere(self) -> None:
        self.assertEqual([shown(s) for s in (0.3, 1, 1.5, 3600)], ["300ms", "1s", "1.5s", "3600s"])

    # Lost nodes

    def test_a_lost_node_drops_its_runs_and_joins_anew(self) -> None:
        self.worker()
        id = self.server.add("deaf")
        self.began()
        first = self.server.jobs[id]["node"]
        with self.server.changed:
            self.server.lose_nodes()
            self.server.jobs[id]["node"] = "another"
        self.assertTrue(self.runs[0].cancelled.wait(5))
        self.assertEqual(self.runs[0].why, "lost")
        self.let_go.set()
        other = self.server.add("echo")
        self.one_end(other)
        self.assertNotIn(first, self.server.nodes)
        self.assertEqual((self.ends(id), self.server.late), ([], []), "nothing is said of the old run")

    def test_a_worker_that_slept_past_its_lease_hands_in_nothing(self) -> None:
        worker = self.worker()
        id = self.server.add("deaf")
        self.began()
        node = worker._running().node
        assert node is not None
        # It wakes up with a run that is over, and no heartbeat gets through yet.
        self.server.fail("/heartbeat$", "cut", times=10_000)
        node.good_at -= 3600
        self.let_go.set()
        time.sleep(0.7)
        self.assertEqual(self.sent(id), 0, "the heartbeat comes first")
        # Meanwhile the server has given its job to another, and now it says so.
        with self.server.changed:
            self.server.lose_nodes()
            self.server.jobs[id]["node"] = "another"
            self.server.faults.clear()
        self.server.until(lambda: len(self.server.asked("POST /work/nodes$")) == 2)
        self.one_end(self.server.add("echo"))
        self.assertEqual((self.sent(id), self.server.late), (0, []))

    def test_a_lease_that_nobody_renews_tells_runs_to_stop(self) -> None:
        worker = self.worker()
        self.server.add("hold")
        self.began()
        self.server.fail("/heartbeat$", "cut", times=10_000)
        node = worker._running().node
        assert node is not None
        node.good_at -= 3600
        self.assertTrue(self.runs[0].cancelled.wait(5))
        self.assertEqual(self.runs[0].why, "lost")
        asked = len(self.server.asked("/lease$"))
        self.server.add("echo")
        time.sleep(0.5)
        self.assertLessEqual(len(self.server.asked("/lease$")), asked + 1, "it asks for nothing more")
        self.server.faults.clear()
        self.server.until(lambda: len(self.server.ended) == 2)

    # Stops, wishes, room

    def test_a_stop_waits_then_gives_back_and_leaves(self) -> None:
        worker = self.worker()
        short, long, deaf = (self.server.add(kind) for kind in ("echo", "hold", "deaf"))
        self.began(3)
        self.one_end(short)
        began = time.monotonic()
        worker.stop(grace=0.5)
        took = time.monotonic() - began
        self.assertEqual([self.one_end(id)["end"] for id in (short, long, deaf)], ["complete", "give_back", "give_back"])
        self.assertEqual(self.server.nodes, {})
        self.assertTrue(0.5 <= took < 4.0, took)
        self.assertFalse(any(job.get("rescued") for job in self.server.jobs.values()))
        before = len(self.server.requests)
        waiting = self.server.add("echo")
        time.sleep(0.3)
        self.assertEqual((self.ends(waiting), len(self.server.requests)), ([], before))

    def test_a_stop_lets_runs_end_within_its_grace(self) -> None:
        worker = self.worker()
        id = self.server.add("hold")
        self.began()
        threading.Timer(0.3, self.let_go.set).start()
        worker.stop(grace=10)
        self.assertEqual(self.one_end(id)["output"], "let go")

    def test_the_servers_wishes_are_heeded(self) -> None:
        worker = self.worker(start=False)
        thread = threading.Thread(target=worker.run)
        thread.start()
        node = self.server.until(lambda: next(iter(self.server.nodes.values()), None))
        self.one_end(self.server.add("echo"))
        with self.server.changed:
            node.wish = "quiet"
            self.server.changed.notify_all()
        self.server.until(lambda: node.state == "quiet")
        quiet = self.server.add("echo")
        time.sleep(0.5)
        self.assertEqual(self.ends(quiet), [])
        with self.server.changed:
            node.wish = None
            self.server.changed.notify_all()
        self.one_end(quiet)
        with self.server.changed:
            node.wish = "stop"
            self.server.changed.notify_all()
        thread.join(10)
        self.assertFalse(thread.is_alive())
        self.assertEqual(self.server.nodes, {})

    def test_a_full_queue_does_not_hold_up_another(self) -> None:
        self.worker(queues={"default": 1, "mail": 1})
        first = self.server.add("hold")
        self.began()
        self.server.until(lambda: [one["queue"] for one in self.server.asked("/lease$")[-1]["queues"]] == ["mail"])
        second = self.server.add("echo")
        self.let_go.set()
        self.one_end(first)
        began = time.monotonic()
        self.one_end(second)
        self.assertLess(time.monotonic() - began, 1.0)
        self.assertEqual(len(self.runs), 2)

    def test_it_takes_no_more_than_it_has_room_for(self) -> None:
        self.worker(slots=3)
        ids = [self.server.add("hold") for _ in range(10)]
        self.began(3)
        time.sleep(0.3)
        self.assertEqual(sum(job["state"] == "running" for job in self.server.jobs.values()), 3)
        self.let_go.set()
        for id in ids:
            self.one_end(id)

    def test_a_worker_that_is_refused_says_so(self) -> None:
        worker = Worker(Client(self.server.url, "wrong"))
        worker.handler("k")(lambda run: None)
        self.assertRaises(NotAllowed, worker.run)

    def test_a_server_that_is_not_there_yet_is_waited_for(self) -> None:
        self.server.fail("POST /work/nodes$", "cut", times=3)
        self.worker()
        self.one_end(self.server.add("echo"))

    def test_mistakes_are_told(self) -> None:
        worker = Worker(self.client)
        self.assertRaises(RuntimeError, worker.start)
        worker.handler("k")(lambda run: None)
        self.assertRaises(ValueError, worker.handler("k"), lambda run: None)

        async def later(run: Run) -> None:
            pass

        self.assertRaises(TypeError, worker.handler("later"), later)


if __name__ == "__main__":
    unittest.main()
