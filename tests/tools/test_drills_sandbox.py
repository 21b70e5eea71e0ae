"""The drills and the benchmark of the sandbox, each a short slice, run as an operator runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.benchmarks.sandbox.figures import GOALS

TOP = Path(__file__).resolve().parents[2]


def run_drill(*argv: str, **env: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and the object on the last line of stdout."""
    done = subprocess.run(
        [sys.executable, "-m", *argv, "--json"],
        check=False,
        cwd=TOP,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def test_a_hundred_runs_leave_no_traces() -> None:
    code, outcome = run_drill("lab.drills.leaks", "--runs", "100", "--backend", "local")
    assert code == 0, outcome
    assert outcome["passed"] is True
    assert outcome["wrong"] == {}
    closed = {resource: count["closed"] for resource, count in outcome["counts"].items()}
    assert (closed["processes"], closed["cgroups"], closed["files"]) == (0, 0, 0)


def test_the_benchmark_measures_both_sides_of_each_ratio() -> None:
    quick = ("--pairs", "1", "--slices", "1", "--seconds", "0.3")
    code, figures = run_drill("lab.benchmarks.sandbox", "--backend", "local", *quick)
    assert code == 0
    assert {key for key in GOALS if key.startswith("local")} <= figures.keys()
    ratio = figures["local_print_ms"] / figures["local_print_baseline_ms"]
    # Each side is rounded; if a run was delayed, its ratio is large and rounded, too.
    assert figures["local_print_ratio"] == pytest.approx(ratio, rel=0.01, abs=0.01)
    assert all(value > 0 for value in figures.values())


def test_the_benchmark_of_repositories_shows_ratio_and_difference() -> None:
    few = ("--pairs", "1", "--files", "300", "--megabytes", "3")
    code, figures = run_drill("lab.benchmarks.repos", "--backend", "local", *few)
    assert code == 0
    more = figures["local_layered_s"] - figures["local_plain_s"]
    assert figures["local_difference_s"] == pytest.approx(more, abs=0.001)
    assert figures["local_ratio"] > 0
    assert figures["local_changed_s"] > 0


def fettle(*argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "fettle"), *argv],
        check=False,
        cwd=TOP,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=110,
    )


def test_the_command_runs_the_requested_attacks() -> None:
    done = fettle("attack", "--backend", "local", "--only", "resources/zombie_bomb", "--json")
    assert done.returncode == 0, done.stderr
    run_drill = json.loads(done.stdout.splitlines()[-1])
    counted = {"attacks": 1, "backends": ["local"], "tried": 1, "held": 1}
    assert run_drill == {**counted, "failed": [], "unproved": []}


def test_a_missing_engine_is_not_a_success() -> None:
    nowhere = "unix:///nonexistent/engine.sock"
    only = ("--only", "resources/zombie_bomb")
    done = fettle("attack", "--backend", "docker", *only, FETTLE_SANDBOX_ENGINE=nowhere)
    assert done.returncode == 1
    assert "nonexistent" in done.stdout
    assert "Traceback" not in done.stderr
