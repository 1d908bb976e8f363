"""Enqueues from Python's psycopg 3, in its transactions and with its types. `psycopg.rs` beside it starts this, and looks.

DATABASE_URL names the database, GUIDE the page with the trigger, WORDS a file with what the library says of jobs that it
refuses: a line each, name and sentence. Prints `NAME ID` of jobs that are to be compared with the library's.
"""

import os
import unittest
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Json, Jsonb

WORDS = dict(line.split("\t", 1) for line in Path(os.environ["WORDS"]).read_text().splitlines())


class DoorTest(unittest.TestCase):
    def setUp(self) -> None:
        self.conn = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
        self.addCleanup(self.conn.close)

    def enqueue(self, *values: Any, **options: Any) -> uuid.UUID:
        """As an application writes it: by name, and without a cast."""
        named = [f"{name} => %({name})s" for name in options]
        arguments = ", ".join([f"%(value{n})s" for n in range(len(values))] + named)
        values_by_name = {f"value{n}": value for n, value in enumerate(values)}
        row = self.conn.execute(f"select longshore.enqueue({arguments})", {**values_by_name, **options}).fetchone()
        assert row is not None
        id = row[0]
        self.assertIsInstance(id, uuid.UUID)
        return id

    def count(self) -> int:
        row = self.conn.execute("select count(*) from longshore.jobs").fetchone()
        assert row is not None
        return int(row[0])

    def test_every_option_in_types_of_python(self) -> None:
        own = uuid.UUID("01934b3e-8f00-7000-8000-0000000000aa")
        id = self.enqueue(
            "send_receipt",
            '{ "order" : 12345678901234567890 }',
            queue="mail",
            priority=2,
            run_at=datetime(2040, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc),
            unique_key="order-7",
            max_attempts=3,
            tags=["a", "b"],
            meta=Json({"from": "python"}),
            unique_within=timedelta(hours=1),
            unique_for_good=False,
            on_conflict="replace",
            timeout=timedelta(milliseconds=1500),
            retain=timedelta(days=3),
            id=own,
            payload_version=7,
            redacted=["secret"],
        )
        self.assertEqual(id, own)
        print("all", id)
        print("none", self.enqueue("send_receipt", Json({"order": 7}), timeout=None, unique_key="k", unique_for_good=True))
        print("least", self.enqueue("send_receipt", None))

    def test_a_jsonb_needs_a_cast(self) -> None:
        with self.assertRaises(psycopg.errors.UndefinedFunction):
            self.enqueue("k", Jsonb({"order": 7}))
        self.conn.execute("select longshore.enqueue('k', %s::json)", [Jsonb({"order": 7})])

    def test_a_commit_and_a_roll_back(self) -> None:
        before = self.count()
        with self.conn.transaction():
            self.enqueue("k", "1")
        self.assertEqual(self.count(), before + 1)
        with self.assertRaises(ZeroDivisionError), self.conn.transaction():
            self.enqueue("k", "2", unique_key="rolled-back")
            raise ZeroDivisionError
        self.assertEqual(self.count(), before + 1)
        # The key went with it; and a savepoint takes only its own part back.
        with self.conn.transaction():
            kept = self.enqueue("k", "3", unique_key="rolled-back")
            with self.assertRaises(ZeroDivisionError), self.conn.transaction():
                self.enqueue("k", "4")
                raise ZeroDivisionError
        self.assertEqual(self.count(), before + 2)
        self.assertEqual(self.enqueue("k", "5", unique_key="rolled-back"), kept)

    def test_many_in_one_round_trip(self) -> None:
        before = self.count()
        with self.conn.pipeline(), self.conn.transaction():
            for n in range(100):
                self.conn.execute("select longshore.enqueue('k', %s)", [str(n)])
        self.assertEqual(self.count(), before + 100)

    def test_the_guides_trigger(self) -> None:
        blocks = Path(os.environ["GUIDE"]).read_text(encoding="utf-8").split("```sql\n")[1:]
        trigger = next(block.split("```")[0] for block in blocks if "create trigger" in block)
        self.conn.execute(trigger)  # type: ignore[arg-type]
        before = self.count()
        with self.assertRaises(ZeroDivisionError), self.conn.transaction():
            self.conn.execute("insert into orders values (6, 'ada@example.com')")
            raise ZeroDivisionError
        self.assertEqual(self.count(), before)
        self.conn.execute("insert into orders values (7, 'ada@example.com')")
        row = self.conn.execute("select payload::text from longshore.jobs where unique_key = 'order-7' and kind = 'send_receipt' and queue = 'default'").fetchone()
        self.assertEqual(row, ('{"order" : 7, "to" : "ada@example.com"}',))

    def refused(self, *values: Any, **options: Any) -> psycopg.Error:
        with self.assertRaises(psycopg.Error) as caught:
            self.enqueue(*values, **options)
        return caught.exception

    def test_what_is_refused_in_the_librarys_words(self) -> None:
        cases: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
            "no name": (("", "1"), {}),
            "a long name": (("x" * 256, "1"), {}),
            "a character that hides": (("a\u200b", "1"), {}),
            "a queue": (("k", "1"), {"queue": ".."}),
            "a priority": (("k", "1"), {"priority": 10}),
            "attempts": (("k", "1"), {"max_attempts": 0}),
            "a tag": (("k", "1"), {"tags": ["."]}),
            "many tags": (("k", "1"), {"tags": [str(n) for n in range(65)]}),
            "notes": (("k", "1"), {"meta": Json([])}),
            "half a surrogate": (("k", Json("\ud800")), {}),
            "too deep": (("k", "[" * 129 + "]" * 129), {}),
            "too large": (("k", Json("x" * (1 << 20))), {}),
            "a version": (("k", "1"), {"payload_version": 0}),
            "a long timeout": (("k", "1"), {"timeout": timedelta(days=36_601)}),
            "a window": (("k", "1"), {"unique_key": "x", "unique_within": timedelta(0)}),
        }
        self.assertEqual(set(cases), set(WORDS) - {"held"})
        before = self.count()
        for name, (values, options) in cases.items():
            error = self.refused(*values, **options)
            self.assertEqual((error.sqlstate, error.diag.message_primary), ("22023", WORDS[name]), name)
            self.assertIsInstance(error, psycopg.errors.InvalidParameterValue)
        self.assertEqual(self.count(), before)

    def test_what_else_fails_and_how(self) -> None:
        self.assertIsInstance(self.refused("k", "{"), psycopg.errors.InvalidTextRepresentation)
        self.enqueue("held", "1", unique_key="x")
        error = self.refused("held", "2", unique_key="x", on_conflict="refuse")
        self.assertIsInstance(error, psycopg.errors.UniqueViolation)
        holder = self.enqueue("held", "2", unique_key="x")
        self.assertEqual(error.diag.message_primary, WORDS["held"].replace("HOLDER", str(holder)))
        # What is refused takes the transaction with it, as any error does.
        before = self.count()
        with self.assertRaises(psycopg.errors.InvalidParameterValue), self.conn.transaction():
            self.enqueue("k", "1")
            self.enqueue("", "1")
        self.assertEqual(self.count(), before)


if __name__ == "__main__":
    unittest.main()
