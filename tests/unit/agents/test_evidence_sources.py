"""Which files are programs, and that one which cannot load ends whatever loads it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from agents.evidence.sources import has_sources, is_source, is_test, sources_in, unloadable
from agents.ports.memory import MemoryRecord, MemoryWorkspace


@pytest.mark.parametrize(
    ("path", "content", "source"),
    [
        ("a.py", b"", True),
        ("src/shop/a.py", b"", True),
        ("A.PY", b"", True),
        ("run.sh", b"", True),
        ("query.sql", b"", True),
        ("index.js", b"", True),
        ("sum.awk", b"", True),
        ("Makefile", b"", True),
        ("rules.mk", b"", True),
        ("src/lib.rs", b"", True),
        ("bin/go", b"#!/bin/sh\necho 1\n", True),
        ("bin/go", b"echo 1\n", False),
        ("notes.md", b"#!/bin/sh\n", False),
        ("data.csv", b"", False),
        ("chart.png", b"", False),
        ("index.html", b"", False),
        ("pyproject.toml", b"", False),
        ("happy", b"", False),
    ],
)
def test_what_is_started_or_imported_is_a_source(path: str, content: bytes, source: bool) -> None:
    assert is_source(path, content) is source


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("test_a.py", True),
        ("tests/test_a.py", True),
        ("a_test.go", True),
        ("a.test.js", True),
        ("a.spec.ts", True),
        ("tests/conftest.py", True),
        ("testing.py", False),
        ("contest.py", False),
        ("check_a.py", False),
    ],
)
def test_tests_are_known_by_their_names(path: str, test: bool) -> None:
    assert is_test(path) is test


async def test_only_what_the_job_has_made_and_left_counts() -> None:
    files = {"a.py": b"", "given.py": b"", "data.csv": b"", "run": b"#!/bin/sh\n"}
    made = ["run", "a.py", "data.csv", "gone.py"]
    assert sources_in(files, dict.fromkeys(made)) == ["a.py", "run"]
    workspace = MemoryWorkspace(MemoryRecord(), files)
    assert await has_sources(workspace, made)
    assert await has_sources(workspace, ["run"])
    assert not await has_sources(workspace, ["data.csv", "gone.py"])


PYTHON = {
    "a program": b"print(1)\n",
    "one without an end of line": b"print(1)",
    "nothing": b"",
    "a script": b"#!/usr/bin/env python3\nimport os\nif __name__ == '__main__':\n    print(os)\n",
    "a docstring": b'"""Sums.\n\nMany lines.\n"""\n\nx = 1\n',
    "a future import": b"# Ours.\n'Sums.'\nfrom __future__ import annotations\n\nx: y = 1\n",
    "an import over lines": b"from __future__ import (\n    annotations,\n)\nx: y = 1\n",
    "other ends of lines": b"'Sums.'\r\nx = 1\r\n",
    "another encoding": "# -*- coding: latin-1 -*-\nx = 'ä'\n".encode("latin-1"),
    "one that cannot be read as it is": b"def f(:\n",
    "only a docstring": b'"""Sums."""',
}


@pytest.mark.parametrize("content", PYTHON.values(), ids=PYTHON)
def test_python_that_cannot_load(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "sums.py"
    path.write_bytes(unloadable("sums.py", content))
    for command in (["sums.py"], ["-c", "import sums"], ["-m", "sums"]):
        assert ran([sys.executable, *command], tmp_path) != 0


@pytest.mark.parametrize("name", [name for name in PYTHON if "cannot be read" not in name])
def test_whoever_only_reads_python_does_not_notice(name: str) -> None:
    before, after = PYTHON[name], unloadable("sums.py", PYTHON[name])
    known = {ast.dump(each) for each in ast.parse(after).body}
    assert known >= {ast.dump(each) for each in ast.parse(before).body}
    assert ast.get_docstring(ast.parse(after)) == ast.get_docstring(ast.parse(before))


OTHERS = {
    "a shell script": ("run.sh", b"echo 1\n", ["bash", "run.sh"]),
    "one that is sourced": ("run.bash", b"echo 1\n", ["bash", "-c", ". ./run.bash; echo 2"]),
    "one without a suffix": ("run", b"#!/bin/sh\necho 1\n", ["./run"]),
    "Python without a suffix": ("run", b"#!/usr/bin/env python3\nprint(1)\n", ["./run"]),
    "a Perl script": ("sum.pl", b"#!/usr/bin/perl\nprint 1;\n", ["perl", "sum.pl"]),
    "awk": ("sum.awk", b"{ n += $1 }\nEND { print n }\n", ["awk", "-f", "sum.awk", "sum.awk"]),
    "sed": ("cut.sed", b"s/a/b/\n", ["sed", "-f", "cut.sed", "cut.sed"]),
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
