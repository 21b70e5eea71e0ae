"""Runs the tests of our own exercises over the right and the wrong solution of each.

A program: it loads what they import once, and forks a process for each solution. Prints one line
of JSON: {exercise: {right: pytest's exit code, wrong: ...}}; null: it was killed.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from pathlib import Path

import numpy as np  # noqa: F401 - the exercises use them
import pandas as pd  # noqa: F401
import pytest

from evals.sources.exercise import Exercise, Files
from evals.sources.own import exercises

CPU_SECONDS = 3
"""One wrong solution tries all ways there are, and would for hours."""
OPTIONS = ("-q", "-p", "no:cacheprovider", "--noconftest", "-o", "addopts=")


def outcome(exercise: Exercise, solution: Files) -> int | None:
    """How pytest exits on the tests of the exercise, beside the solution."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**exercise.tests, **solution}.items():
            (Path(folder) / name).write_text(text)
        if not (child := os.fork()):
            _judge(folder)
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else None


def _judge(folder: str) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.chdir(folder)
    sys.path.insert(0, folder)
    os._exit(pytest.main([*OPTIONS, "--rootdir", folder, folder]))


if __name__ == "__main__":
    told = {
        each.id: {
            "right": outcome(each, each.right or {}),
            "wrong": outcome(each, each.wrong or {}),
        }
        for each in exercises()
    }
    sys.stdout.write(json.dumps(told))
