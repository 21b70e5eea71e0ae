"""The benchmark of the pages, a short slice, as an operator starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
SLICE = ("--waiting", "4", "--events", "40", "--rounds", "2")


def test_the_benchmark_compares_each_page_with_the_same_page_of_another_checkout() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lab.benchmarks.pages", "--baseline", TOP, "--json", *SLICE],
        check=False,
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.stdout, done.stderr
    printed = json.loads(done.stdout.splitlines()[-1])
    ratios = {page: printed[f"{page}_ratio"] for page in ("inbox", "list", "job")}
    for page, ratio in ratios.items():
        assert printed[f"{page}_ms"] > 0
        quotient = printed[f"{page}_ms"] / printed[f"{page}_baseline_ms"]
        assert ratio == pytest.approx(quotient, abs=0.05)
    assert done.returncode == any(ratio > 1.1 for ratio in ratios.values())


def test_the_benchmark_reports_a_checkout_without_the_packages(tmp_path: Path) -> None:
    for package in ("api", "jobs"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise ImportError('no Fettle here')")
    done = subprocess.run(
        [sys.executable, "-m", "lab.benchmarks.pages", "--baseline", tmp_path, *SLICE],
        check=False,
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode != 0
    assert "no Fettle here" in done.stdout + done.stderr
