"""A small server that keeps the contract of work over HTTP in memory, and misbehaves as a test wants it to."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional, Tuple

TOKEN = "lsh_secret_of_the_tests"


class Fault:
    """What happens to requests that match, the next `times` of them."""

    def __init__(self, pattern: str, how: str, times: int = 1, **said: Any) -> None:
        self.pattern, self.how, self.times, self.said = re.compile(pattern), how, times, said


class Node:
    def __init__(self, lease: float) -> None:
        self.id = str(uuid.uuid4())
        self.lease = lease
        self.expires = time.monotonic() + lease
        self.wish: Optional[str] = None
        self.state = "serving"


class Server:
    """`with Server() as server:`; its fields are a test's to read and change, under `changed`."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.jobs: Dict[str, Dict[str, Any]] = {}
        self.nodes: Dict[str, Node] = {}
        self.keys: Dict[str, Any] = {}
        self.requests: List[Tuple[str, str, Any, Dict[str, str]]] = []
        self.faults: List[Fault] = []
        self.ended: List[Tuple[str, Dict[str, Any]]] = []
        self.said: List[Dict[str, Any]] = []
        self.late: List[Dict[str, Any]] = []
        self.leases = 1000
        self.closed = False
        self.forgets_holds = 0
        """So many calls with `holds` are answered as if these were lost."""
        self.http_of: Dict[int, BaseHTTPRequestHandler] = {}
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except OSError:  # the client has hung up
                    self.close_connection = True

            def any(self) -> None:
                fake.answer(self)

            do_GET = do_POST = do_DELETE = any

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass

        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def __enter__(self) -> "Server":
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self.http.shutdown()
        self.http.server_close()

    # What tests do

    def add(self, kind: str, payload: str = "null", **more: Any) -> str:
        with self.changed:
            id = str(uuid.uuid4())
            job = {"id": id, "kind": kind, "queue": "default", "payload": payload, "state": "queued", "attempt": 0}
            self.jobs[id] = {**job, "timeout_ms": None, "cancel": False, "node": None, "lease": None, **more}
            self.changed.notify_all()
            return id

    def fail(self, pattern: str, how: str, times: int = 1, **said: Any) -> None:
        with self.changed:
            self.faults.append(Fault(pattern, how, times, **said))

    def cancel(self, id: str) -> None:
        with self.changed:
            self.jobs[id]["cancel"] = True
            self.changed.notify_all()

    def lose_nodes(self) -> None:
        """All leases are over, and their jobs given to others."""
        with self.changed:
            for job in self.jobs.values():
                if job["state"] == "running":
                    job.update(state="queued", node=None, lease=None)
            self.nodes.clear()
            self.changed.notify_all()

    def until(self, holds: Callable[[], Any], longest: float = 10.0) -> Any:
        deadline = time.monotonic() + longest
        with self.changed:
            while True:
                found = holds()
                if found:
                    return found
                if time.monotonic() > deadline:
                    raise AssertionError(f"waited in vain; {self.jobs} {self.ended}")
                self.changed.wait(0.02)

    def asked(self, pattern: str) -> List[Any]:
        with self.changed:
            return [body for method, path, body, _ in self.requests if re.search(pattern, f"{method} {path}")]

    # What it answers

    def answer(self, http: BaseHTTPRequestHandler) -> None:
        length = int(http.headers.get("content-length") or 0)
        text = http.rfile.read(length).decode()
        body = json.loads(text) if text else None
        path = http.path[len("/api/v1") :]
        line = f"{http.command} {path}"
        with self.changed:
            headers = {name.lower(): value for name, value in http.headers.items()}
            self.requests.append((http.command, path, body, headers))
            self.changed.notify_all()
            fault = next((fault for fault in self.faults if fault.times and fault.pattern.search(line)), None)
            if fault:
                fault.times -= 1
        if fault and fault.how == "cut":
            http.close_connection = True
            return
        if fault and fault.how == "say":
            said = dict(fault.said)
            self.send(http, said.pop("status"), said.pop("body", {}), said.pop("headers", {}))
            return
        if headers.get("authorization") != f"Bearer {TOKEN}":
            self.problem(http, 401, "unauthorized", "the credentials are wrong")
            return
        with self.changed:
            self.http_of[threading.get_ident()] = http
            done = self.carry_out(http.command, path, body, headers)
        if fault and fault.how == "lose":
            http.close_connection = True
            return
        if fault and fault.how == "half":
            http.send_response(200)
            http.send_header("Content-Length", "1000")
            http.end_headers()
            http.wfile.write(b'{"jobs"')
            http.close_connection = True
            return
        status, answer = done
        if status >= 400:
            self.problem(http, status, answer, "it cannot be")
        else:
            self.send(http, status, answer, {})

    def problem(self, http: BaseHTTPRequestHandler, status: int, code: str, detail: str) -> None:
        said = {"type": f"/api/docs#problem-{code}", "title": "x", "status": status, "code": code, "detail": detail}
        self.send(http, status, {**said, "request_id": "r-1"}, {})

    def send(self, http: BaseHTTPRequestHandler, status: int, body: Any, headers: Dict[str, str]) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        data = b"" if status == 204 else text.encode()
        http.send_response(status)
        for name, value in headers.items():
            http.send_header(name, value)
        http.send_header("Content-Length", str(len(data)))
        http.end_headers()
        http.wfile.write(data)

    def carry_out(self, method: str, path: str, body: Any, headers: Dict[str, str]) -> Tuple[int, Any]:
        parts = path.split("?")[0].strip("/").split("/")
        if parts[:1] == ["jobs"]:
            return self.job_route(method, parts[1:], body, headers)
        if parts == ["work", "nodes"]:
            node = Node((body.get("lease_ms") or 60000) / 1000)
            self.nodes[node.id] = node
            return 201, {"id": node.id, "lease_ms": node.lease * 1000, "heartbeat_ms": node.lease * 1000 / 3}
        found = self.nodes.get(parts[2])
        if found is None or found.expires < time.monotonic():
            return 404, "node_lost"
        if method == "DELETE":
            del self.nodes[found.id]
            for job in self.jobs.values():
                if job["node"] == found.id:
                    job.update(state="queued", node=None, lease=None, rescued=True)
            return 204, None
        routes = {"lease": self.lease, "heartbeat": self.heartbeat, "end": self.end, "say": self.say}
        return routes[parts[3]](found, body)

    def job_route(self, method: str, parts: List[str], body: Any, headers: Dict[str, str]) -> Tuple[int, Any]:
        if method == "POST" and not parts:
            key = headers.get("idempotency-key", "")
            if key not in self.keys or not key:
                self.keys[key] = {"id": self.add(body["kind"], json.dumps(body.get("payload")))}
            return 201, {**self.keys[key], "duplicate": False, "replaced": False}
        if parts == ["batch"]:
            results = []
            for job in body["jobs"]:
                id = job.get("id") or str(uuid.uuid4())
                there = id in self.jobs
                if not there:
                    self.jobs[self.add(job["kind"])]["own"] = id
                    self.jobs[id] = {"state": "queued", "kind": job["kind"], "node": "nobody"}
                results.append({"id": id, "duplicate": there, "replaced": False})
            return 201, {"results": results}
        job = self.jobs.get(parts[0])
        if job is None:
            return 404, "not_found"
        if parts[1:] == ["cancel"]:
            if job["state"] != "queued":
                return 409, "refused"
            job["state"] = "cancelled"
        return 200, {**job, "priority": 5, "max_attempts": 10}

    def lease(self, node: Node, body: Any) -> Tuple[int, Any]:
        until = time.monotonic() + body["wait_ms"] / 1000
        while True:
            if self.hung_up() or node.id not in self.nodes:
                return 404, "node_lost"
            if body["holds"] and self.forgets_holds:
                self.forgets_holds -= 1
                body["holds"] = []
            lost = [j for j in self.jobs.values() if j["node"] == node.id and j["id"] not in body["holds"]]
            if lost:
                return 200, self.leased(lost, node, True)
            room = {one["queue"]: one["limit"] for one in body["queues"]}
            found: List[Dict[str, Any]] = []
            for job in self.jobs.values():
                if node.wish is None and job["state"] == "queued" and job["node"] is None and room.get(job["queue"], 0):
                    if len(found) < body["limit"]:
                        room[job["queue"]] -= 1
                        found.append(job)
            for job in found:
                self.leases += 1
                job.update(state="running", node=node.id, lease=self.leases, attempt=job["attempt"] + 1)
            left = until - time.monotonic()
            if found or left <= 0 or self.closed or node.wish:
                self.changed.notify_all()
                return 200, self.leased(found, node, False)
            self.changed.wait(min(left, 0.02))

    def hung_up(self) -> bool:
        try:
            flags = socket.MSG_PEEK | socket.MSG_DONTWAIT
            return len(self.http_of[threading.get_ident()].connection.recv(1, flags)) == 0
        except BlockingIOError:
            return False
        except OSError:
            return True

    def leased(self, jobs: List[Dict[str, Any]], node: Node, again: bool) -> str:
        texts = []
        for job in jobs:
            rest = {key: job[key] for key in ("id", "lease", "kind", "queue", "attempt", "timeout_ms")}
            rest.update(priority=5, max_attempts=10, run_at="2026-01-01T00:00:00.25Z", payload_version=1, meta=None)
            rest.update(traceparent=None, again=again)
            texts.append(f'{{ "payload" : {job["payload"]} , {json.dumps(rest)[1:]}')
        return f'{{"jobs": [{", ".join(texts)}], "wish": {json.dumps(node.wish)}}}'

    def heartbeat(self, node: Node, body: Any) -> Tuple[int, Any]:
        node.expires = time.monotonic() + node.lease
        node.state = body.get("state", node.state)
        until, wish = time.monotonic() + body["wait_ms"] / 1000, node.wish
        while True:
            asked = [job["id"] for job in self.jobs.values() if job["node"] == node.id and job["cancel"]]
            left = until - time.monotonic()
            if asked or left <= 0 or node.wish != wish or self.closed:
                return 200, {"cancel": asked, "wish": node.wish, "lease_ms": node.lease * 1000}
            if node.id not in self.nodes:
                return 404, "node_lost"
            self.changed.wait(left)

    def end(self, node: Node, body: Any) -> Tuple[int, Any]:
        for end in body["ends"]:
            if end.get("output") == "refuse me":
                return 422, "invalid"
        answers = []
        for end in body["ends"]:
            job = self.jobs.get(end["job"])
            if job and job.get("was") == (node.id, end["lease"]):
                answers.append({"job": end["job"], "state": job["state"]})
            elif job is None or job["node"] != node.id or job["lease"] != end["lease"]:
                self.late.append(end)
                answers.append({"job": end["job"], "lost": True})
            else:
                states = {"complete": "succeeded", "give_back": "queued", "cancel": "cancelled"}
                state = "cancelled" if job["cancel"] else states.get(end["end"], "retrying")
                job.update(state=state, node=None, lease=None, was=(node.id, end["lease"]))
                self.ended.append((end["job"], end))
                answers.append({"job": end["job"], "state": state})
        self.changed.notify_all()
        return 200, {"answers": answers}

    def say(self, node: Node, body: Any) -> Tuple[int, Any]:
        self.said.extend(body["says"])
        return 200, {"answers": [{"job": one["job"], "lost": False} for one in body["says"]]}
