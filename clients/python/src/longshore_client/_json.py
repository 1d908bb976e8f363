"""JSON whose numbers stay what they are, and the very text of a value inside a larger one."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, Dict, Iterator, List, Tuple


class RawJson(str):
    """JSON as text, which is sent byte for byte: `RawJson('{"price": 0.10}')`."""

    def __new__(cls, text: str) -> "RawJson":
        json.loads(text, parse_int=str, parse_float=str)  # or it could end the body early
        return super().__new__(cls, text)

    @classmethod
    def _trusted(cls, text: str) -> "RawJson":
        return super().__new__(cls, text)


def _integer(digits: str) -> Any:
    try:
        return int(digits)
    except ValueError:  # Python refuses more than 4,300 digits; a `Decimal` has them all
        return Decimal(digits)


_decoder = json.JSONDecoder(parse_int=_integer)
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_space = re.compile(r"[ \t\n\r]*")


def loads(text: str) -> Any:
    """Integers are exact, of whatever length."""
    return _decoder.decode(text)


def dumps(value: Any) -> str:
    """Compact. NaN and infinity are none of JSON's, and refused (`ValueError`)."""
    return value if isinstance(value, RawJson) else _encoder.encode(value)


def raw(value: Any) -> RawJson:
    """The value as text that `write` puts in as it is."""
    return value if isinstance(value, RawJson) else RawJson._trusted(dumps(value))


def write(value: Any) -> str:
    """Like `dumps`, with `RawJson` in any place."""
    if isinstance(value, RawJson):
        return value
    if isinstance(value, dict):
        return "{" + ",".join(f"{_encoder.encode(key)}:{write(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(write(item) for item in value) + "]"
    return _encoder.encode(value)


def jobs_of(text: str) -> Tuple[Dict[str, Any], List[Tuple[Dict[str, Any], str]]]:
    """The answer of a lease call: its other members, and its jobs, each with the text of its payload."""
    whole: Dict[str, Any] = {}
    jobs: List[Tuple[Dict[str, Any], str]] = []
    for key, start, end in _members(text, 0):
        if key != "jobs":
            whole[key] = loads(text[start:end])
            continue
        for first, _ in _items(text, start):
            job: Dict[str, Any] = {}
            payload = "null"
            for name, begin, stop in _members(text, first):
                if name == "payload":
                    payload = text[begin:stop]
                else:
                    job[name] = loads(text[begin:stop])
            jobs.append((job, payload))
    return whole, jobs


def _after_space(text: str, at: int) -> int:
    match = _space.match(text, at)
    assert match is not None  # it matches nothing at all, too
    return match.end()


def _value_end(text: str, at: int) -> int:
    return _decoder.raw_decode(text, at)[1]


def _expect(text: str, at: int, mark: str) -> int:
    at = _after_space(text, at)
    if text[at : at + 1] != mark:
        raise ValueError(f"no `{mark}` at character {at}")
    return _after_space(text, at + 1)


def _members(text: str, at: int) -> Iterator[Tuple[str, int, int]]:
    """Each member of the object at `at`: its name, and where its value begins and ends."""
    at = _expect(text, at, "{")
    while text[at : at + 1] != "}":
        name_end = _value_end(text, at)
        start = _expect(text, name_end, ":")
        end = _value_end(text, start)
        yield loads(text[at:name_end]), start, end
        at = _after_space(text, end)
        if text[at : at + 1] != "}":
            at = _expect(text, at, ",")


def _items(text: str, at: int) -> Iterator[Tuple[int, int]]:
    """Where each item of the array at `at` begins and ends."""
    at = _expect(text, at, "[")
    while text[at : at + 1] != "]":
        end = _value_end(text, at)
        yield at, end
        at = _after_space(text, end)
        if text[at : at + 1] != "]":
            at = _expect(text, at, ",")
