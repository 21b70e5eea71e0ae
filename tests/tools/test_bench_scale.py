"""The benchmark of scale, a short slice, as an operator starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
SLICE = ("--jobs", "5", "--seconds", "0.05", "--calls", "2", "--calls", "4", "--workers", "1")


def test_the_benchmark_measures_both_sides_and_both_parts() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lab.benchmarks.scale", "--json", *SLICE],
        check=False,
        cwd=TOP,
        env={**os.environ, "FETTLE_SANDBOX_ROOMS": "0"},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout.splitlines()[-1])
    ideal = 5 * 0.05
    assert printed["makespan_s_5"] > ideal
    assert printed["baseline_s_5"] > ideal
    ratio = printed["makespan_s_5"] / printed["baseline_s_5"]  # the figures are rounded
    assert printed["makespan_vs_baseline_5"] == pytest.approx(ratio, rel=0.05)
    assert 0 < printed["sandboxes_mb_5"] < printed["rss_mb_5"]
    assert printed["file_bytes_per_call_4"] > 49_000
    assert printed["bytes_per_call_4"] > printed["event_bytes_per_call_4"] > 100
    assert 100 < printed["finished_bytes_per_call"] <= 2_048
    assert 1_000 < printed["finished_bytes_otherwise"] <= 6_144
    assert printed["ms_per_call_ratio_4_to_2"] > 0
