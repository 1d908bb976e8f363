"""Drives 44-webhook: python3 webhook.py LONGSHORE FOLDER.

Prints what was received on stderr, and on stdout five figures: attempts, verified, ids, forged, counted.
"""

import http.server
import json
import subprocess
import sys
import threading

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

LONGSHORE, FOLDER = sys.argv[1:]
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ANSWERS = [(500, {}), (429, {"retry-after": "1"}), (204, {})]
received = []


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        status, headers = ANSWERS[min(len(received), len(ANSWERS) - 1)]
        received.append((dict(self.headers), body.decode()))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def verifies(headers, body):
    try:
        Webhook(SECRET).verify(body, headers)
        return True
    except WebhookVerificationError:
        return False


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
database = f"sqlite:{FOLDER}/webhook.db"
with open(f"{FOLDER}/longshore.toml", "w") as file:
    file.write('[kinds]\nhttp_allow = "127.0.0.0/8"\n')
settings = ["--config", f"{FOLDER}/longshore.toml", "--database", database]
subprocess.run([LONGSHORE, "migrate", "up", *settings], check=True, stdout=subprocess.DEVNULL)
with open(f"{FOLDER}/node.log", "w") as log:
    node = subprocess.Popen([LONGSHORE, "serve", *settings], stdout=log, stderr=log)
try:
    payload = {
        "url": f"http://127.0.0.1:{server.server_port}/orders",
        "body": {"type": "order.paid", "data": {"order": 7, "total": 12345678901234567890}},
        "secret": SECRET,
    }
    options = ["--payload", json.dumps(payload), "--backoff", "fixed:1s", "--wait", "--timeout-wait", "30s", "--json"]
    done = subprocess.run(
        [LONGSHORE, "enqueue", "webhook_delivery", *options, *settings], capture_output=True, text=True, check=True
    )
finally:
    node.terminate()
    node.wait()

job = json.loads(done.stdout)
for headers, body in received:
    print(f"  {headers['webhook-id']} at {headers['webhook-timestamp']}: {headers['webhook-signature']}", file=sys.stderr)
verified = sum(verifies(headers, body) for headers, body in received)
forged = sum(verifies(headers, body.replace("paid", "void")) for headers, body in received)
print(len(received), verified, len({headers["webhook-id"] for headers, _ in received}), forged, job["attempt"], sep="\n")
