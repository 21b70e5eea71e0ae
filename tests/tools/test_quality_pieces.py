"""Pieces of the harness: tries in parallel, verdicts, plots."""

from __future__ import annotations

import builtins
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from agents.extras import install_command
from cli.errors import CliError
from cli.output import Screen
from lab.evals import extra
from lab.evals.report import bars, tables
from lab.evals.report.results import Header, Result, SolutionVerdict
from lab.evals.report.statistics import wilson
from lab.evals.report.summing import sum_up
from lab.evals.run.exercise_job import result_of
from lab.evals.run.hidden_tests import failure_reason, verdict_of
from lab.evals.run.tries import for_each


def test_few_tries_run_at_once_and_all_are_done():
    lock, now, most = threading.Lock(), 0, 0
    three = threading.Barrier(3)

    def work(item: int) -> int:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        if item < 3:
            three.wait(20)
        time.sleep(0.001)
        with lock:
            now -= 1
        return item * 2

    doubled: list[int] = []
    for_each(list(range(20)), work, 3, doubled.append)
    assert sorted(doubled) == [2 * n for n in range(20)]
    assert most == 3


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        ({"tests": [], "problem": "the checks ran for longer than they may"}, "longer"),
        ({"tests": [], "problem": None}, "no test was run"),
        (
            {
                "tests": [
                    {"id": "t.py::a", "outcome": "passed", "detail": ""},
                    {"id": "t.py::b", "outcome": "failed", "detail": "x\nE  assert 1 == 2\n\n"},
                    {"id": "t.py::c", "outcome": "missing", "detail": ""},
                ],
                "problem": None,
            },
            "t.py::b failed and 1 more: E  assert 1 == 2",
        ),
    ],
)
def test_the_reason_why_checks_have_not_passed(report: dict[str, Any], reason: str):
    assert reason in failure_reason(report)


def test_a_verdict_by_exit_code_alone_is_marked():
    report = {"passed": True, "tests": [{"id": "make", "outcome": "passed"}], "problem": None}
    for judged, note in (("exit_code", "by exit code alone"), ("tests", ""), (None, "")):
        job = {"id": "v1", "status": "succeeded", "result": {"checks": report}}
        report["judged_by"] = judged
        assert verdict_of(job).why == note


def a_job(**changes: Any) -> dict[str, Any]:
    return {
        "id": "j1",
        "status": "succeeded",
        "reason": None,
        "runs": [],
        "critiques": [],
        "cost": {"total": {"calls": 1}},
        "ran_seconds": 1.0,
        "created_at": "2026-11-22T08:00:00.000Z",
        "finished_at": "2026-11-22T08:00:02.500Z",
        **changes,
    }


def test_the_report_of_a_job():
    runs = [
        {"succeeded": False, "end": "exited", "failure": {"class": "name"}},
        {"succeeded": False, "end": "timeout", "failure": None},  # of an older release
        {"succeeded": True, "end": "exited", "failure": None},
    ]
    result = result_of(a_job(runs=runs, critiques=[{}]))
    assert result.failures == ("name", "timeout")
    assert (result.runs, result.revisions, result.job_seconds) == (3, 1, 2.5)


@pytest.mark.parametrize(
    ("status", "reason", "measured"),
    [
        ("succeeded", None, True),
        ("failed", "unapproved", True),
        ("failed", "budget_exhausted", True),
        ("failed", "deadline", True),
        ("failed", "model_unavailable", False),
        ("failed", "sandbox_unavailable", False),
        ("failed", "internal", False),
        ("cancelled", None, False),
    ],
)
def test_a_failure_that_is_not_the_models_is_not_measured(status, reason, measured):
    lost = result_of(a_job(status=status, reason=reason, detail="set a key"))
    assert lost.measured is measured
    if not measured and reason:
        assert lost.why_not == f"{reason}: set a key"


HEADER = Header(
    "i", {"name": "s", "exercises": 2}, {"model": "groq:m", "repair": True}, {}, "2026", 1
)


def results() -> list[Result]:
    cost = {"calls": 1, "input_tokens": 5, "output_tokens": 6, "cost_usd": None}
    return [
        Result(
            "a",
            1,
            level="easy",
            first=SolutionVerdict(False),
            final=SolutionVerdict(True),
            cost=cost,
        ),
        Result(
            "b",
            1,
            level="hard",
            first=SolutionVerdict(True),
            final=SolutionVerdict(True),
            cost=cost,
        ),
        Result("c", 1, why_not="internal: a detail"),
    ]


def test_the_table_shows_the_measured_and_the_unmeasured_exercises(capsys):
    tables.show_results(Screen(), HEADER, sum_up(HEADER, results()))
    text = capsys.readouterr().out
    assert "first attempt\t50.0%" in text
    assert "at the end\t100.0%" in text
    assert "easy, first attempt\t0.0%" in text
    assert "price unknown" in text
    assert "not measured: internal 1" in text


def test_a_plot_is_drawn_as_a_file_and_for_a_terminal(tmp_path: Path):
    drawing = bars.bars_of_results(HEADER, sum_up(HEADER, results()))
    assert drawing is not None
    plots = extra.plots()
    plots.png(tmp_path / "x.png", drawing)
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    chart = plots.terminal(drawing, 80)
    assert "easy, first attempt" in chart
    assert "█" in chart
    assert "\x1b" not in chart
    single_group = bars.Bars("t", ("first attempt",), {"all": (wilson(1, 2),)})
    assert "first attempt" in plots.terminal(single_group, 40)


def test_without_its_libraries_a_plot_names_the_command(monkeypatch):
    monkeypatch.delitem(sys.modules, "lab.evals.report.plots", raising=False)
    real = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(CliError, match="matplotlib is not installed") as missing:
        extra.plots()
    assert missing.value.next_step == install_command("plots")
