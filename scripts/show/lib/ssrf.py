"""Drives 43-ssrf: python3 ssrf.py LONGSHORE FOLDER, in a network and a mount namespace of its own.

Prints a table for people on stderr, and on stdout five figures: refused, wrong, reached, others, rebound.
"""

import http.server
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

LONGSHORE, FOLDER = sys.argv[1:]
# In this network it is ours; the guard takes it for what it is elsewhere.
PUBLIC = "93.184.215.14"

# What each name leads to, time after time; the last for good.
NAMES = {
    "public.test": [[PUBLIC]],
    "inside.test": [["127.0.0.1"]],
    "metadata.test": [["169.254.169.254"]],
    "both.test": [["10.0.0.1", PUBLIC]],
    "rebind.test": [[PUBLIC], ["127.0.0.1"]],
}

# Address, and the words it is refused with: a rule, or the payload's fault.
TABLE = [
    ("http://127.0.0.1/", "(loopback)"),
    ("http://127.9.8.7/", "(loopback)"),
    ("http://2130706433/", "(loopback)"),
    ("http://0x7f000001/", "(loopback)"),
    ("http://0177.0.0.1/", "(loopback)"),
    ("http://127.1/", "(loopback)"),
    ("http://①②⑦.0.0.1/", "(loopback)"),
    ("http://localhost/", "(loopback)"),
    ("http://inside.test/", "(loopback)"),
    ("http://[::1]/", "(this machine)"),
    ("http://[::]/", "(this machine)"),
    ("http://[::ffff:127.0.0.1]/", "(loopback)"),
    ("http://[::ffff:a9fe:a9fe]/", "(link-local)"),
    ("http://[64:ff9b::7f00:1]/", "(loopback)"),
    ("http://[2002:7f00:1::]/", "(6to4)"),
    ("http://[fd00::1]/", "(unique local)"),
    ("http://[fe80::1]/", "(link-local)"),
    ("http://0.0.0.0/", "(this network)"),
    ("http://10.0.0.1/", "(private)"),
    ("http://172.16.0.1/", "(private)"),
    ("http://192.168.1.1/", "(private)"),
    ("http://100.64.0.1/", "(shared)"),
    ("http://169.254.169.254/latest/meta-data/", "(link-local)"),
    ("http://metadata.test/", "(link-local)"),
    ("http://both.test/", "(private)"),
    ("http://224.0.0.1/", "(multicast)"),
    ("http://255.255.255.255/", "(reserved)"),
    ("https://127.0.0.1:8443/", "(loopback)"),
    ("ftp://public.test/", "must begin with"),
    ("file:///etc/passwd", "must begin with"),
    ("gopher://127.0.0.1/", "must begin with"),
    ("http://user:secret@public.test/", "has a user in it"),
    # It is reached, and where it sends us is not.
    ("http://public.test/redirect", "answers 302"),
]


def run(*command):
    subprocess.run(command, check=True)


def name_server():
    """Answers A as NAMES says, and everything else with nothing."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    while True:
        question, asker = server.recvfrom(512)
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1 : at + 1 + question[at]].decode())
            at += question[at] + 1
        end = at + 5
        (kind,) = struct.unpack("!H", question[at + 1 : at + 3])
        answers = NAMES.get(".".join(labels).lower(), [[]])
        found = []
        if kind == 1:
            found = answers.pop(0) if len(answers) > 1 else answers[0]
        head = question[:2] + struct.pack("!HHHHH", 0x8180, 1, len(found), 0, 0)
        records = b"".join(
            b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + socket.inet_aton(address) for address in found
        )
        server.sendto(head + question[12:end] + records, asker)


reached = []


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        host = self.headers.get("host", "")
        reached.append((self.connection.getsockname()[0], host))
        status = 302 if self.path == "/redirect" else 500 if host.startswith("rebind") else 200
        self.send_response(status)
        if status == 302:
            self.send_header("location", "http://127.0.0.1/")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def longshore(*arguments):
    command = [LONGSHORE, *arguments, "--database", f"sqlite:{FOLDER}/ssrf.db"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def became(url):
    """The job's end, and the words of its last error."""
    payload = json.dumps({"url": url})
    options = ["--payload", payload, "--max-attempts", "2", "--backoff", "fixed:1s"]
    enqueued = longshore("enqueue", "http_request", *options, "--json")
    job = json.loads(enqueued.stdout)["id"]
    for _ in range(200):
        shown = json.loads(longshore("jobs", "show", job, "--json").stdout)
        if shown["state"] in ("succeeded", "dead", "cancelled"):
            errors = shown.get("errors") or [{"message": ""}]
            return shown["state"], [error["message"] for error in errors]
        time.sleep(0.05)
    sys.exit(f"{url} did not end")


run("ip", "link", "set", "lo", "up")
run("ip", "address", "add", f"{PUBLIC}/32", "dev", "lo")
with open(f"{FOLDER}/resolv.conf", "w") as file:
    file.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
run("mount", "--bind", f"{FOLDER}/resolv.conf", os.path.realpath("/etc/resolv.conf"))
threading.Thread(target=name_server, daemon=True).start()
# On every address, so that a request that gets through is seen.
server = http.server.ThreadingHTTPServer(("0.0.0.0", 80), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()

longshore("migrate", "up")
node = subprocess.Popen(
    [LONGSHORE, "serve", "--database", f"sqlite:{FOLDER}/ssrf.db"],
    stdout=subprocess.DEVNULL,
    stderr=open(f"{FOLDER}/node.log", "w"),
)
try:
    refused = wrong = 0
    for url, words in TABLE:
        state, errors = became(url)
        good = state == "dead" and words in errors[-1] and len(errors) == 1
        refused += good
        wrong += not good
        print(f"  {url:44} {state}: {errors[-1]}{'' if good else '   <- expected ' + words}", file=sys.stderr)
    state, _ = became("http://public.test/")
    wrong += state != "succeeded"
    print(f"  {'http://public.test/':44} {state}", file=sys.stderr)
    state, errors = became("http://rebind.test/")
    print(f"  {'http://rebind.test/':44} {state}: {', then: '.join(errors)}", file=sys.stderr)
    rebound = state == "dead" and ["answers 500" in errors[0], "(loopback)" in errors[-1]] == [True, True]
finally:
    node.terminate()
    node.wait()

print(refused, wrong, sum(at == PUBLIC for at, _ in reached), sum(at != PUBLIC for at, _ in reached), int(rebound), sep="\n")
