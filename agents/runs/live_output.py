"""The last lines of a run's output, for clients that watch the job while the run goes on."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager

from agents.attempt import RunOutputs
from agents.runs.shell_marks import SHELL, without_marks
from agents.texts import bounded
from sandbox.protocol import LIVE_BYTES, OutputReceiver

LINES = 12
LINE_CHARACTERS = 240
COMMAND_CHARACTERS = 160


@contextmanager
def live_output(
    outputs: RunOutputs | None, run: str | None, tool: str, text: str
) -> Iterator[OutputReceiver | None]:
    """A receiver of the output of a run; None if clients cannot follow the run. `text` is the code
    or the command of the run."""
    if outputs is None or run is None:
        yield None
        return
    with outputs.follow(run, tool, _first_line(text)) as show:
        yield lambda tail: show(last_lines(tail, text if tool == SHELL else None))


def last_lines(tail: bytes, command: str | None = None) -> str:
    """The last lines of an output that ends with the bytes `tail`.

    If a shell wrote marks into the output, `command` is the shell's command line, and the lines
    have no marks. Each line has its last state: a progress bar overwrites its line. A line that
    begins before `tail` is left out, unless it is the only line. An incomplete character at the
    end is left out, too.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = decoder.decode(tail).replace("\r\n", "\n")
    is_complete = len(tail) < LIVE_BYTES
    if not is_complete:  # the beginning of the first line may be missing
        text = text.partition("\n")[2] or text
    if command is not None:
        text = without_marks(command, text, is_complete=is_complete)
    states = (line.rstrip("\r").rpartition("\r")[2] for line in text.removesuffix("\n").split("\n"))
    return "\n".join(line[-LINE_CHARACTERS:] for line in [*states][-LINES:])


def _first_line(text: str) -> str:
    """The first line of a program that is not blank."""
    lines = [line.strip() for line in text.split("\n") if line.strip()] or [""]
    return bounded(lines[0] if len(lines) == 1 else f"{lines[0]} ...", COMMAND_CHARACTERS)
