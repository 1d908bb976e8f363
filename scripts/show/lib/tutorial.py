"""Follows a tutorial to the letter: tutorial.py PAGE FOLDER CHECKOUT DATABASE.

Blocks of the page, in their order, done in the empty FOLDER:
  below a line **`path`**   that file, whole; as `diff`, a change of it
  sh                        commands of one shell, `cd` and `export` included
  text                      what the commands of the block before it print on stdout, line by line; a line … stands
                            for any number of lines

Two things differ from the page. Where it depends on a published version, the crate comes from CHECKOUT; where it
names a PostgreSQL database, that is DATABASE. Times and ids are masked; `$id` is the first id that was printed by
the last command that printed one. Prints what it does, and ends with lines `name figure` for the caller.
"""
import os
import re
import shutil
import subprocess
import sys

page, folder, checkout, database = sys.argv[1:]
ADDRESS = "postgres://app@localhost/shop"
UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
MASKS = [
    (UUID, "<id>"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|min|h|d) ago\b"), "<time>"),
    (re.compile(r"finished in \d+\.\d+s"), "finished in <time>"),
    (re.compile(r" {2,}"), "  "),
]
counts = {"files": 0, "changes": 0, "commands": 0, "outputs": 0, "faults": 0}


def blocks(text):
    """Each block with the line above it: (label, language, body)."""
    label, lines = None, iter(text.splitlines())
    for line in lines:
        if line.startswith("```"):
            body = []
            for inner in lines:
                if inner == "```":
                    break
                body.append(inner)
            yield label, line[3:], body
            label = None
        elif line.strip():
            named = re.fullmatch(r"\*\*`(.+)`\*\*", line)
            label = named.group(1) if named else None


def fault(text):
    counts["faults"] += 1
    print(f"  FAULT: {text}")


def read(path):
    return open(os.path.join(folder, "shop", path)).read().splitlines()


def write(path, lines):
    """The page's text, with the crates of this checkout for the published ones."""
    place = os.path.join(folder, "shop", path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if path == "Cargo.toml":
        lines = [line.replace('version = "0.1"', f'path = "{checkout}/crates/longshore"')
                 if line.startswith("longshore = ") else line for line in lines]
        # The versions that the checkout is tested with, which are at hand: no network is needed.
        if not os.path.exists(place.replace("Cargo.toml", "Cargo.lock")):
            shutil.copy(os.path.join(checkout, "Cargo.lock"), os.path.dirname(place))
    open(place, "w").write("\n".join(lines) + "\n")


def change(path, diff):
    """Replaces the lines that begin with a blank or a minus by those with a blank or a plus."""
    was = [line[1:] for line in diff if line[:1] in ("-", " ", "")]
    now = [line[1:] for line in diff if line[:1] in ("+", " ", "")]
    lines = shown(path, read(path))
    at = [n for n in range(len(lines)) if lines[n:n + len(was)] == was]
    if len(at) != 1:
        return fault(f"{path}: these lines are in it {len(at)} times: {was}")
    write(path, lines[:at[0]] + now + lines[at[0] + len(was):])


def shown(path, lines):
    """As the page would show it."""
    return [line.replace(f'path = "{checkout}/crates/longshore"', 'version = "0.1"') for line in lines]


def masked(lines):
    for pattern, mask in MASKS:
        lines = [pattern.sub(mask, line) for line in lines]
    return [line.rstrip() for line in lines if line.strip()]


def fits(want, got):
    """Whether the lines are these, where … stands for any number of them."""
    if not want:
        return not got
    if want[0] == "…":
        return any(fits(want[1:], got[n:]) for n in range(len(got) + 1))
    return bool(got) and want[0] == got[0] and fits(want[1:], got[1:])


def run(line, env, where):
    """One command; its output goes to the reader too."""
    print(f"$ {line}", flush=True)
    done = subprocess.run(["bash", "-c", line.replace(ADDRESS, database)], cwd=where, env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    sys.stdout.write(done.stdout)
    if done.returncode != 0:
        fault(f"exit code {done.returncode}")
        sys.stdout.write(done.stderr)
    return done.stdout.splitlines()


env, where, printed = dict(os.environ), folder, None
for label, language, body in blocks(open(page).read()):
    if label and language == "diff":
        print(f"~ {label}")
        counts["changes"] += 1
        change(label, body)
    elif label:
        print(f"+ {label}")
        counts["files"] += 1
        write(label, body)
    elif language == "sh":
        printed = []
        for line in body:
            counts["commands"] += 1
            word, _, rest = line.partition(" ")
            if word == "cd":
                where = os.path.join(where, rest)
            elif word == "export":
                name, _, value = rest.partition("=")
                env[name] = value.replace(ADDRESS, database)
            else:
                said = run(line, env, where)
                ids = UUID.findall("\n".join(said))
                env["id"] = ids[0] if ids else env.get("id", "")
                printed += said
    elif language == "text":
        counts["outputs"] += 1
        if not fits(masked(body), masked(printed)):
            fault("the page shows instead:")
            print("\n".join(body))
    else:
        fault(f"a block that says neither what it is nor where it goes: {language}")
    if counts["faults"]:
        break
for name, count in counts.items():
    print(name, count)
