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


def test_it_measures_both_sides_and_both_parts() -> None:
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
    shown = json.loads(done.stdout.splitlines()[-1])
    ideal = 5 * 0.05
    assert shown["makespan_s_5"] > ideal
    assert shown["baseline_s_5"] > ideal
    ratio = shown["makespan_s_5"] / shown["baseline_s_5"]  # of figures that were rounded
    assert shown["makespan_vs_baseline_5"] == pytest.approx(ratio, rel=0.05)
    assert 0 < shown["sandboxes_mb_5"] < shown["rss_mb_5"]
    assert shown["file_bytes_per_call_4"] > 49_000
    assert shown["bytes_per_call_4"] > shown["event_bytes_per_call_4"] > 100
    assert 100 < shown["finished_bytes_per_call"] <= 2_048
    assert 1_000 < shown["finished_bytes_otherwise"] <= 6_144
    assert shown["ms_per_call_ratio_4_to_2"] > 0
