"""`fettle chaos`, as an operator runs it."""

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
"""A machine that runs other tests besides may take its time; what it may not do is lose a job."""


def last_line(text: str) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(text.strip().splitlines()[-1])
    return shown


@pytest.mark.timeout(300)
def test_a_quarter_of_a_minute_of_everything_loses_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    words = ("chaos", "--minutes", "0.25", "--seed", "5", *BUSY, "--keep", str(kept), "--json")
    with started(*words, cwd=tmp_path, env=environment(tmp_path), grace=2.0) as chaos:
        code = chaos.end(280)
    shown = last_line(chaos.text)
    assert (code, shown["passed"]) == (0, True), chaos.text
    assert set(KEYS) <= shown.keys()
    assert not shown["missed"].keys() - {Kind.CHILD_KILL, Kind.WORKER_KILL, Kind.FREEZE, Kind.DRAIN}
    nothing = ("lost", "finished_twice", "violations", "repeated_paid_calls", "client_failures")
    assert {shown[key] for key in nothing} == {0}
    assert shown["jobs"] > 5
    assert shown["kills"] >= 0.8 * shown["kills_planned"] > 0
    log = (kept / "operations.jsonl").read_text().splitlines()
    entries: list[dict[str, Any]] = [json.loads(line) for line in log]
    struck = {entry["fault"] for entry in entries if entry["what"] == "struck"}
    waits_for_the_fleet = {Kind.CHILD_KILL, Kind.WORKER_KILL, Kind.FREEZE}
    assert set(Kind) - struck <= waits_for_the_fleet
    assert any(entry["what"] == "called" and entry["caller"] for entry in entries)
    assert len((kept / "jobs.jsonl").read_text().splitlines()) == shown["jobs"]
