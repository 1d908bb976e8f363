"""Drives 45-kinds: python3 kinds.py LONGSHORE FOLDER.

Prints each kind's job and what its peer saw on stderr, and on stdout three figures: kinds, ended, proven.
"""

import email
import email.policy
import http.server
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import threading

from aiosmtpd.controller import Controller
from standardwebhooks.webhooks import Webhook

LONGSHORE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
FILES = FOLDER / "files"
FILES.mkdir()
PHOTO = pathlib.Path("crates/longshore-kinds/tests/photos/coffee.jpg").read_bytes()
TEXT = "Rain fell on the roof. The roof let the rain in. He ate."

mails, hooks = [], []


class Mails:
    async def handle_DATA(self, server, session, envelope):
        mails.append(email.message_from_bytes(envelope.content, policy=email.policy.default))
        return "250 taken"


class Web(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        photo = self.path == "/photo.jpg"
        body = PHOTO if photo else b'{"price": 12345678901234567890.10}'
        self.send_response(200)
        self.send_header("content-type", "image/jpeg" if photo else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        Webhook(SECRET).verify(body, dict(self.headers))
        hooks.append(dict(self.headers)["webhook-id"])
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
threading.Thread(target=web.serve_forever, daemon=True).start()
with socket.create_server(("127.0.0.1", 0)) as free:
    smtp_port = free.getsockname()[1]
smtp = Controller(Mails(), hostname="127.0.0.1", port=smtp_port)
smtp.start()
address = f"http://127.0.0.1:{web.server_port}"

child = FOLDER / "shout.py"
child.write_text(
    "import json, sys\n"
    "for line in sys.stdin:\n"
    "    asked = json.loads(line)\n"
    "    print(json.dumps({'id': asked['id'], 'output': asked['payload']['say'].upper()}), flush=True)\n"
)
config = FOLDER / "longshore.toml"
config.write_text(
    f"""
[kinds]
files_root = {json.dumps(str(FILES))}
exec_programs = {json.dumps(shutil.which("sha256sum"))}
http_allow = "127.0.0.0/8"
smtp_server = "127.0.0.1:{smtp_port}"
smtp_security = "none"
smtp_from = "Shop <shop@example.org>"

[kinds.pools.shout]
argv = {json.dumps([sys.executable, str(child)])}
"""
)
settings = ["--config", str(config), "--database", f"sqlite:{FOLDER}/kinds.db"]


def longshore(*arguments):
    return subprocess.run([LONGSHORE, *arguments, *settings], capture_output=True, text=True, timeout=60)


def ran(kind, payload, *options):
    """A job of this kind once it has ended."""
    options = ["--payload", json.dumps(payload), "--wait", "--timeout-wait", "30s", "--json", *options]
    done = longshore("enqueue", kind, *options)
    try:
        return json.loads(done.stdout)
    except ValueError:
        sys.exit(f"{kind}: {done.stdout}{done.stderr}")


# Kind, payload, its end, and whether its peer or its output shows that the work was done.
WORK = [
    ("noop", {}, "succeeded", lambda job: job["attempt"] == 1),
    ("sleep", {"seconds": 0.2}, "succeeded", lambda job: job["attempt"] == 1),
    ("fail", {"dead": True, "message": "as asked"}, "dead", lambda job: "as asked" in json.dumps(job)),
    (
        "resize_image",
        {"source": f"{address}/photo.jpg", "output": "small.webp", "width": 64, "height": 64},
        "succeeded",
        lambda job: (FILES / "small.webp").read_bytes()[8:12] == b"WEBP",
    ),
    ("summarize_text", {"text": TEXT, "max_words": 6}, "succeeded", lambda job: job["output"]["words"] <= 6),
    (
        "exec",
        {"argv": [shutil.which("sha256sum")], "stdin": "longshore"},
        "succeeded",
        lambda job: len(job["output"]["stdout"].split()[0]) == 64,
    ),
    (
        "http_request",
        {"url": f"{address}/price"},
        "succeeded",
        lambda job: job["output"]["status"] == 200,
    ),
    (
        "webhook_delivery",
        {"url": f"{address}/hook", "body": {"type": "order.paid"}, "secret": SECRET},
        "succeeded",
        lambda job: hooks == [job["id"]],
    ),
    (
        "send_email",
        {
            "to": ["anna@example.org"],
            "subject": "Hello",
            "text": "Hello!",
            "attachments": [{"name": "a.bin", "content_type": "application/octet-stream", "content": "AAEC"}],
        },
        "succeeded",
        lambda job: [part.get_content() for part in mails[0].iter_attachments()] == [b"\0\1\2"],
    ),
    ("process_pool", {"pool": "shout", "payload": {"say": "ahoy"}}, "succeeded", lambda job: job["output"] == "AHOY"),
]

longshore("migrate", "up")
with open(FOLDER / "node.log", "w") as log:
    node = subprocess.Popen([LONGSHORE, "serve", *settings], stdout=log, stderr=log)
try:
    ended = proven = 0
    for kind, payload, end, shows in WORK:
        job = ran(kind, payload)
        as_it_should = job["state"] == end
        ended += as_it_should
        proven += as_it_should and shows(job)
        print(f"  {kind:18} {job['state']:10} {json.dumps(job.get('output'))[:90]}", file=sys.stderr)
    known = json.loads(longshore("kinds", "list", "--json").stdout)
    known = known if isinstance(known, list) else known["kinds"]
finally:
    node.terminate()
    node.wait()
    smtp.stop()
print(len({one.get("kind") or one.get("name") for one in known} & {kind for kind, *_ in WORK}), ended, proven, sep="\n")
