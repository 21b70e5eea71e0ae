"""Every promise of docs/invariants.md has tests with its number as a marker."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PROMISES = TESTS.parent / "docs" / "invariants.md"


def test_each_invariant_has_a_test_and_no_test_names_an_unknown_invariant() -> None:
    promised = set(re.findall(r"^\| (J\d+) \|", PROMISES.read_text(), re.MULTILINE))
    written = "".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    proved = set(re.findall(r'@pytest\.mark\.invariant\("(J\d+)"\)', written))
    assert promised == {f"J{number}" for number in range(1, 15)}
    assert proved == promised
