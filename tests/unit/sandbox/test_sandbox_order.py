from __future__ import annotations

import pytest

from sandbox.agent.wire import lines
from sandbox.order import order
from sandbox.protocol import Command, Limits

PYTHON = "/opt/venv/bin/python"


def found(command: Command, limits: Limits | None = None) -> tuple[list[tuple[str, str]], bytes]:
    made = order(command, limits or Limits(), PYTHON)
    return lines(made.header), b"|".join(made.blobs)


def test_every_limit_is_in_the_header() -> None:
    pairs = dict(found(Command(("x",)), Limits(wall_seconds=1.5, memory_bytes=7))[0])
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
    ],
)
def test_what_cannot_be_ordered_is_a_value_error(command: Command, limits: Limits) -> None:
    with pytest.raises(ValueError, match=r"path|word|at most|positive|seed"):
        order(command, limits, PYTHON)
