"""The last lines of a run's output while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from agents.runs.live_output import LINE_CHARACTERS, LINES, last_lines, live_output
from agents.runs.shell_marks import shell_argv
from sandbox.protocol import LIVE_BYTES

COMMAND = "make all\nfalse"
MARK = next(word for word in shell_argv(COMMAND) if word.startswith("\x1e"))
FAILED = f"{MARK} failed 2 1\nfalse\x1f"


def test_the_last_lines_are_shown_each_in_its_last_state() -> None:
    text = "".join(f"line {number}\n" for number in range(30))
    assert last_lines(text.encode()).split("\n") == [f"line {n}" for n in range(30 - LINES, 30)]
    assert last_lines(b"10 %\r50 %\r\ndone\r\nnext 1\rnext 2") == "50 %\ndone\nnext 2"
    assert last_lines(b"10 %\r50 %\r") == "50 %"
    assert last_lines(b"x" * 1_000) == "x" * LINE_CHARACTERS
    assert last_lines(b"\xff\xfe fine") == "\ufffd\ufffd fine"
    assert last_lines(b"") == ""


def test_a_line_that_begins_before_the_tail_is_left_out() -> None:
    tail = b"half a line\nwhole\n".ljust(LIVE_BYTES, b"z")
    assert last_lines(tail).split("\n")[0] == "whole"
    assert last_lines(tail[:-1]).split("\n")[0] == "half a line"
    half = "é".encode() * LIVE_BYTES
    assert last_lines(half[1 : LIVE_BYTES + 1]).endswith("é")


@pytest.mark.parametrize("cut", range(len(FAILED.encode()) + 1))
def test_no_part_of_a_mark_of_a_command_line_is_shown(cut: int) -> None:
    marked = f"{MARK} step 1\x1fmade\n{FAILED}".encode()
    end = len(marked) - len(FAILED.encode()) + cut
    assert last_lines(marked[:end], COMMAND) == "made"
    tail = (FAILED.encode()[cut:] + b"after\n").rjust(LIVE_BYTES, b"\n")
    if 0 < cut < len(FAILED.encode()):
        assert last_lines(tail, COMMAND).strip() == "after"


def test_a_program_that_writes_the_sign_of_a_mark_is_shown() -> None:
    assert last_lines(b"a\x1eb\nc\n", COMMAND) == "a\x1eb\nc"
    fields = f"{MARK} step 1\x1fmade\n0a1b\x1fFix\n".encode()  # `git log --format=%h%x1f%s`
    assert last_lines(fields, COMMAND) == "made\n0a1b\x1fFix"


class _Outputs:
    def __init__(self) -> None:
        self.followed: list[tuple[str, ...]] = []

    @contextmanager
    def follow(self, run: str, tool: str, command: str) -> Iterator[Callable[[str], None]]:
        self.followed.append((run, tool, command))
        yield lambda text: self.followed.append((text,))
        self.followed.append(("end",))


def test_a_run_is_followed_with_its_first_line() -> None:
    outputs = _Outputs()
    with live_output(outputs, "r3", "shell", COMMAND) as receive:
        assert receive is not None
        receive(f"{MARK} step 1\x1fmade\n".encode())
    with live_output(outputs, "r4", "python", f"\n  {'x' * 500}\n"):
        pass
    assert outputs.followed[:3] == [("r3", "shell", "make all ..."), ("made",), ("end",)]
    assert len(outputs.followed[3][2]) <= 160


def test_a_run_without_an_id_is_not_followed() -> None:
    outputs = _Outputs()
    with live_output(outputs, None, "shell", COMMAND) as receive:
        assert receive is None
    with live_output(None, "r1", "shell", COMMAND) as receive:
        assert receive is None
    assert outputs.followed == []
