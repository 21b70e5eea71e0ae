"""Which files are programs, and how an unloadable program ends each program that loads it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from agents.runs.sources import is_source, unloadable


@pytest.mark.parametrize(
    ("path", "content", "source"),
    [
        ("a.py", b"", True),
        ("A.PY", b"", True),
        ("Makefile", b"", True),
        ("bin/go", b"#!/bin/sh\necho 1\n", True),
        ("bin/go", b"echo 1\n", False),
        ("notes.md", b"#!/bin/sh\n", False),
        ("data.csv", b"", False),
        ("pyproject.toml", b"", False),
    ],
)
def test_files_that_are_started_or_imported_are_sources(
    path: str, content: bytes, source: bool
) -> None:
    assert is_source(path, content) is source


PYTHON = {
    "a program": b"print(1)\n",
    "nothing": b"",
    "a script": b"#!/usr/bin/env python3\nimport os\nif __name__ == '__main__':\n    print(os)\n",
    "a docstring": b'"""Sums.\n\nMany lines.\n"""\n\nx = 1\n',
    "a future import": b"# Ours.\n'Sums.'\nfrom __future__ import annotations\n\nx: y = 1\n",
    "other ends of lines": b"'Sums.'\r\nx = 1\r\n",
    "another encoding": "# -*- coding: latin-1 -*-\nx = 'ä'\n".encode("latin-1"),
    "one that cannot be read as it is": b"def f(:\n",
}


@pytest.mark.parametrize("content", PYTHON.values(), ids=PYTHON)
def test_python_that_cannot_load(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "sums.py"
    path.write_bytes(unloadable("sums.py", content))
    for command in (["sums.py"], ["-c", "import sums"], ["-m", "sums"]):
        assert ran([sys.executable, *command], tmp_path) != 0


@pytest.mark.parametrize("name", [name for name in PYTHON if "cannot be read" not in name])
def test_a_program_that_only_reads_python_does_not_fail(name: str) -> None:
    before, after = PYTHON[name], unloadable("sums.py", PYTHON[name])
    statements = {ast.dump(statement) for statement in ast.parse(after).body}
    assert statements >= {ast.dump(statement) for statement in ast.parse(before).body}
    assert ast.get_docstring(ast.parse(after)) == ast.get_docstring(ast.parse(before))


OTHERS = {
    "a shell script": ("run.sh", b"echo 1\n", ["bash", "run.sh"]),
    "one without a suffix": ("run", b"#!/bin/sh\necho 1\n", ["./run"]),
    "a Perl script": ("sum.pl", b"#!/usr/bin/perl\nprint 1;\n", ["perl", "sum.pl"]),
    "a Makefile": ("Makefile", b"all:\n\techo 1\n", ["make"]),
}


@pytest.mark.parametrize(("path", "content", "command"), OTHERS.values(), ids=OTHERS)
def test_other_programs_that_cannot_load(
    path: str, content: bytes, command: list[str], tmp_path: Path
) -> None:
    file = tmp_path / path
    file.write_bytes(content)
    file.chmod(0o755)
    assert ran(command, tmp_path) == 0
    file.write_bytes(unloadable(path, content))
    assert ran(command, tmp_path) != 0


def ran(command: list[str], folder: Path) -> int:
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode
