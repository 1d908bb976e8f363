"""A process of a pool, for tests: does what its payload says."""

import json
import os
import signal
import subprocess
import sys
import time


def say(answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


asked = 0
for line in sys.stdin:
    job = json.loads(line)
    asked += 1
    what, payload = job["payload"]["do"], job["payload"]

    def output(value, **more):
        say({"id": job["id"], "output": value, **more})

    if what == "echo":
        output({"pid": os.getpid(), "asked": asked, "got": payload.get("value")})
    elif what == "null":
        output(None)
    elif what == "sleep":
        time.sleep(payload["seconds"])
        output("slept")
    elif what == "error":
        say({"id": job["id"], "error": payload["words"], **({"retry": payload["retry"]} if "retry" in payload else {})})
    elif what == "log":
        say({"id": job["id"], "log": "one"})
        print("on stderr", file=sys.stderr, flush=True)
        output("done", log=["two", "three"])
    elif what == "flood":
        for _ in range(20_000):
            sys.stderr.write("x" * 100 + "\n")
        sys.stderr.flush()
        output("done")
    elif what == "environment":
        output({"variables": sorted(os.environ), "folder": os.getcwd(), "token": os.environ.get("SHOP_TOKEN"), "n": 123456})
    elif what == "exit":
        print("no such table", file=sys.stderr, flush=True)
        sys.exit(3)
    elif what == "answer and exit":
        output("last words")
        sys.exit(0)
    elif what == "half a line and exit":
        sys.stdout.write('{"id": "')
        sys.stdout.flush()
        sys.exit(0)
    elif what == "close":
        os.close(1)
        time.sleep(60)
    elif what == "garbage":
        print("hello there", flush=True)
        time.sleep(60)
    elif what == "endless":
        try:
            while True:
                os.write(1, b"x" * 65536)
        except BrokenPipeError:
            pass
    elif what == "no newline":
        sys.stdout.write(json.dumps({"id": job["id"], "output": 1}))
        sys.stdout.flush()
        time.sleep(60)
    elif what == "wrong id":
        say({"id": "somebody-else", "output": 1})
        time.sleep(60)
    elif what == "twice":
        output(1)
        output(2)
        time.sleep(60)
    elif what == "fork":
        # One that stays in the group and one that holds the pipes open.
        child = subprocess.Popen(["sleep", "60"])
        with open(payload["file"], "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
        os.rename(payload["file"], payload["file"] + ".whole")
        time.sleep(60)
    elif what == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        output(os.getpid())
    elif what == "goodbye":
        file = payload["file"]

        def leave(*_):
            open(file, "w").close()
            sys.exit(0)

        signal.signal(signal.SIGTERM, leave)
        output(os.getpid())
    else:
        output(f"what is {what}?")
