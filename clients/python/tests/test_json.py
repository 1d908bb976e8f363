"""Values, and their very texts."""

import unittest
from decimal import Decimal

from longshore_client import _json


class JsonTest(unittest.TestCase):
    def test_the_text_of_each_payload(self) -> None:
        text = ' { "wish" : "quiet", "jobs" : [ {"id":"a","payload": {"a" : [1, 2.50]} ,"n":1}, {"payload":"]}\\"","id":"b"}] }'
        whole, jobs = _json.jobs_of(text)
        self.assertEqual(whole, {"wish": "quiet"})
        self.assertEqual(jobs, [({"id": "a", "n": 1}, '{"a" : [1, 2.50]}'), ({"id": "b"}, '"]}\\""')])
        self.assertEqual(_json.jobs_of('{"jobs":[],"wish":null}'), ({"wish": None}, []))

    def test_what_is_cut_off_is_refused(self) -> None:
        whole = '{"jobs":[{"id":"a","payload":{"a":1}}],"wish":null}'
        for end in range(len(whole)):
            with self.assertRaises(ValueError, msg=whole[:end]):
                _json.jobs_of(whole[:end])

    def test_integers_of_any_length(self) -> None:
        self.assertEqual(_json.loads("123456789012345678901"), 123456789012345678901)
        digits = "1" * 5000
        self.assertEqual(Decimal(_json.loads(digits)), Decimal(digits))

    def test_raw_in_any_place(self) -> None:
        self.assertEqual(_json.write({"a": [_json.RawJson("1.0"), {"b": _json.RawJson("2e3")}], "c": "ü"}), '{"a":[1.0,{"b":2e3}],"c":"ü"}')


if __name__ == "__main__":
    unittest.main()
