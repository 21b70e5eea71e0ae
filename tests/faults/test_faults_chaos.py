"""`fettle chaos`, run as an operator runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.processes.fettle_command import environment, started

from lab.drills.chaos.schedule import Kind

KEYS = (
    *("jobs", "kills", "faults", "lost", "finished_twice", "violations"),
    *("repeated_paid_calls", "recovery_s_p50", "recovery_s_max"),
)
BUSY = ("--slack", "60")
"""Allowance for the load of other tests: a job may take longer, but no job may be lost."""


def last_line(text: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(text.strip().splitlines()[-1])
    return report


@pytest.mark.timeout(300)
def test_all_faults_for_a_quarter_of_a_minute_lose_no_job(tmp_path: Path) -> None:
    log_folder = tmp_path / "kept"
    options = ("--minutes", "0.25", "--seed", "5", *BUSY, "--keep", str(log_folder), "--json")
    with started("chaos", *options, cwd=tmp_path, env=environment(tmp_path), grace=2.0) as chaos:
        code = chaos.end(280)
    report = last_line(chaos.text)
    assert (code, report["passed"]) == (0, True), chaos.text
    assert set(KEYS) <= report.keys()
    assert not report["missed"].keys() - {
        Kind.CHILD_KILL,
        Kind.WORKER_KILL,
        Kind.FREEZE,
        Kind.DRAIN,
    }
    nothing = ("lost", "finished_twice", "violations", "repeated_paid_calls", "client_failures")
    assert {report[key] for key in nothing} == {0}
    assert report["jobs"] > 5
    assert report["kills"] >= 0.8 * report["kills_planned"] > 0
    log = (log_folder / "operations.jsonl").read_text().splitlines()
    entries: list[dict[str, Any]] = [json.loads(line) for line in log]
    struck = {entry["fault"] for entry in entries if entry["what"] == "struck"}
    waits_for_the_fleet = {Kind.CHILD_KILL, Kind.WORKER_KILL, Kind.FREEZE}
    assert set(Kind) - struck <= waits_for_the_fleet
    assert any(entry["what"] == "called" and entry["caller"] for entry in entries)
    assert len((log_folder / "jobs.jsonl").read_text().splitlines()) == report["jobs"]
