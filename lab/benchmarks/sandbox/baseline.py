"""The bare side: one child process per run, without isolation.

It gets every advantage: the faster of two interpreters (the sandbox's own environment, and the
interpreter that it was made from, because `.pth` files may slow the latter down), no wrapper, an
existing font list, and an existing directory.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.benchmarks.sandbox.programs import PLOT, PRINT, BenchmarkProgram

_BASE = "import os, sys; print(os.path.realpath(sys._base_executable))"
_TRIES = 7


@dataclass(frozen=True, slots=True)
class ProcessBaseline:
    """Two interpreters; their runs happen in `folder`."""

    quick: str
    """The interpreter that starts faster; it runs `PRINT`."""
    with_libraries: str
    """The interpreter that has the sandbox's libraries; it runs the other programs."""
    folder: Path

    @classmethod
    def ready(cls, python: Path, folder: Path) -> ProcessBaseline:
        """Prepare the baseline for the interpreter of a sandbox. A first plot builds the
        font list.
        """
        command = [str(python), "-I", "-c", _BASE]
        base = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        quick = min((str(python), base), key=lambda each: _start(each, folder))
        baseline = cls(quick, str(python), folder)
        baseline.run(PLOT)
        return baseline

    def run(self, program: BenchmarkProgram) -> float:
        """Make one run, and read its file; returns its seconds."""
        python = self.quick if program is PRINT else self.with_libraries
        started_at = time.perf_counter()
        stdout = _run(python, program.code, self.folder)
        files = {}
        if program.expected_file is not None:
            path = self.folder / program.expected_file
            files[program.expected_file] = path.read_bytes()
            path.unlink()
        seconds = time.perf_counter() - started_at
        program.check(stdout, files)
        return seconds


def _run(python: str, code: str, folder: Path) -> str:
    done = subprocess.run(
        [python, "-I", "-c", code],
        env=_environment(folder),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _environment(folder: Path) -> Mapping[str, str]:
    """One thread for mathematics, as in a sandbox. The font list stays in the folder."""
    return {
        "HOME": str(folder),
        "MPLCONFIGDIR": str(folder / "matplotlib"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _start(python: str, folder: Path) -> float:
    seconds = []
    for _ in range(_TRIES):
        started_at = time.perf_counter()
        _run(python, PRINT.code, folder)
        seconds.append(time.perf_counter() - started_at)
    return statistics.median(seconds)
