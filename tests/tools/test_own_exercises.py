"""Our own exercises: their tests pass the right solution, and fail the wrong one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from settings.sandbox import sandbox_python

TESTS = Path(__file__).parent.parent
PASSED = 0
FAILED = (1, None)
"""`None`: it was killed, which is how the judge ends what takes too long."""


def test_the_tests_report_a_right_solution_from_one_that_looks_right() -> None:
    judged = subprocess.run(
        [sandbox_python(), str(TESTS / "support/cases/own_exercises.py")],
        env={**os.environ, "PYTHONPATH": str(TESTS.parent)},
        capture_output=True,
        timeout=240,
        check=True,
    )
    shown = json.loads(judged.stdout)
    assert len(shown) == 25
    assert {name: found for name, found in shown.items() if found["right"] != PASSED} == {}
    assert {name: found for name, found in shown.items() if found["wrong"] not in FAILED} == {}
