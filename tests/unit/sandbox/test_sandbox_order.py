from __future__ import annotations

import pytest

from sandbox.agent.wire import parse_lines
from sandbox.order import encode_order
from sandbox.protocol import Command, Limits

PYTHON = "/opt/venv/bin/python"


def header_lines(command: Command, limits: Limits | None = None) -> list[tuple[str, str]]:
    return parse_lines(encode_order(command, limits or Limits(), PYTHON).header)


def test_every_limit_is_in_the_header() -> None:
    pairs = dict(header_lines(Command(("x",)), Limits(wall_seconds=1.5, memory_bytes=7)))
    assert (pairs["wall_seconds"], pairs["memory_bytes"]) == ("1.5", "7")
    assert {"flood_bytes", "inodes", "sample_seconds", "rlimit"} <= pairs.keys()


@pytest.mark.parametrize(
    ("command", "limits"),
    [
        (Command(("a\0b",)), Limits()),
        (Command(("x",), {"../x": b""}), Limits()),
        (Command(("x",), {"x": b"", "y": b""}), Limits(workspace_files=1)),
        (Command(("x",)), Limits(wall_seconds=0)),
        (Command(("x",), seed=-1), Limits()),
        (Command(("x",), trees=("../x",)), Limits()),
        (Command(("x",), trees=("a:b",)), Limits()),
        (Command(("x",), trees=("a" * 81,)), Limits()),
        (Command(("x",), trees=("a", "a")), Limits()),
        (Command(("x",), trees=tuple(map(str, range(9)))), Limits()),
        (Command(("x",), removed=frozenset({"gone"})), Limits()),
        (Command(("x",), trees=("a",), removed=frozenset({"a/../b"})), Limits()),
    ],
)
def test_an_invalid_command_is_a_value_error(command: Command, limits: Limits) -> None:
    with pytest.raises(ValueError, match=r"path|word|at most|positive|seed|tree"):
        encode_order(command, limits, PYTHON)


def test_removed_paths_are_in_the_header() -> None:
    command = Command(("x",), trees=("base",), removed=frozenset({"b/a b", "a"}))
    pairs = header_lines(command)
    assert [value for key, value in pairs if key == "removed"] == ["a", "b/a b"]
