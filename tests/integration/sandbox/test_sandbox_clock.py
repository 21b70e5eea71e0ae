"""Loops count time in steps of their own (uvloop: milliseconds); a run's truth is not theirs."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from sandbox.local import LocalSandbox
from sandbox.protocol import Command, End, Limits

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"


class CoarseLoop(asyncio.SelectorEventLoop):
    """A loop whose clock goes on ten times a second."""

    def time(self) -> float:
        return int(super().time() * 10) / 10


def test_an_honest_answer_is_believed_whatever_clock_the_loop_has():
    async def ends() -> list[End]:
        sandbox = LocalSandbox(PYTHON)
        try:
            command = Command.python("print(1)")
            return [(await sandbox.run(command, Limits())).end for _ in range(3)]
        finally:
            await sandbox.close()

    with asyncio.Runner(loop_factory=CoarseLoop) as runner:
        assert runner.run(ends()) == [End.EXITED] * 3
