"""The README shows what is tested."""

import re
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent


class ReadmeTest(unittest.TestCase):
    def test_the_example_stands_in_the_readme_and_is_short(self) -> None:
        example = (HERE / "examples/receipts.py").read_text(encoding="utf-8")
        readme = (HERE / "README.md").read_text(encoding="utf-8")
        blocks = re.findall(r"```python\n(.*?)```", readme, re.S)
        self.assertEqual(blocks, [example])
        self.assertLessEqual(len(example.splitlines()), 31)


if __name__ == "__main__":
    unittest.main()
