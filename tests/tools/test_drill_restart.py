"""`python -m lab.drills.restart`, as an operator runs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from support.processes.fettle_command import REPOSITORY, environment

pytestmark = pytest.mark.e2e


def test_a_restart_of_all_programs_loses_and_repeats_no_work(tmp_path):
    drill = subprocess.run(
        [sys.executable, "-m", "lab.drills.restart", "--jobs", "3", "--json"],
        check=False,
        cwd=REPOSITORY,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert drill.returncode == 0, drill.stderr
    printed = json.loads(drill.stdout.splitlines()[-1])
    assert printed["passed"] is True
    jobs = [(job["status"], job["workers"], job["calls_after"]) for job in printed["verdicts"]]
    assert jobs == [("succeeded", 2, 3)] * 3
    assert "passed: nothing was lost" in drill.stderr
    assert list((tmp_path / "tmp").glob("fettle-*")) == []
