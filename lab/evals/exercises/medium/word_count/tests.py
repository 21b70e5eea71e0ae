import subprocess
import sys

import pytest


def run(*args, stdin=b"", cwd=None):
    from pathlib import Path

    import solution

    program = Path(solution.__file__).resolve()
    return subprocess.run(
        [sys.executable, str(program), *args], input=stdin, capture_output=True, cwd=cwd, timeout=10
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one two\nthree\n")
    (tmp_path / "b.bin").write_bytes(b"\xff\xfe no newline \t at the end")
    (tmp_path / "empty").write_bytes(b"")
    return tmp_path


def test_stdin():
    done = run(stdin=b"a b\nc")
    assert (done.returncode, done.stdout) == (0, b"1 3 5\n")


def test_files_and_total(folder):
    done = run("a.txt", "b.bin", "empty", cwd=folder)
    lines = done.stdout.decode().splitlines()
    assert lines == ["2 3 14 a.txt", "0 6 26 b.bin", "0 0 0 empty", "2 9 40 total"]
    assert done.returncode == 0


def test_one_file_has_no_total(folder):
    assert run("a.txt", cwd=folder).stdout == b"2 3 14 a.txt\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [(["-c"], b"14"), (["-c", "-l"], b"2 14"), (["-wl"], b"2 3"), (["-l", "-l"], b"2")],
)
def test_options(folder, options, expected):
    assert run(*options, "a.txt", cwd=folder).stdout == expected + b" a.txt\n"


def test_a_file_that_is_not_there(folder):
    done = run("none", "a.txt", cwd=folder)
    assert done.returncode == 1
    assert b"none" in done.stderr
    assert done.stdout.splitlines() == [b"2 3 14 a.txt", b"2 3 14 total"]


def test_an_unknown_option(folder):
    done = run("-x", "a.txt", cwd=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr
