"""A command line for bash, and the marks of its commands in its output (`shell.sh`).

bash ends at the first command that fails (`set -e -o pipefail`). It names neither the failed
command nor the beginning of each command's output. Marks in the output show both. They are removed
before models and people read the output.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agents.sandbox_programs import shell_marks
from agents.texts import lines_of, one_line
from sandbox.protocol import End, RunResult, Stream

SHELL: Final = "shell"
"""The tool of a command line."""
COMMAND_CHARACTERS = 120
"""The length to which a command is cut in a note."""
_MAIN: Final = (
    "fettle__mark=$1 fettle__marks=$2 fettle__text=$3; shift 3; "
    'eval "$fettle__marks"; eval "$fettle__text"; '
    'fettle__end=$?; exit "$((fettle__end == 141 ? 0 : fettle__end))"'
)
"""On one line, so that bash counts only the lines of the command line. 141 is the exit code of a
program that SIGPIPE ended."""

_MARK_REST: Final = r" (step|failed) (\d{1,9})([^\x1e\x1f]*)\x1f"
"""The pattern of a mark after its beginning."""


@dataclass(frozen=True, slots=True)
class MarkedResult:
    """The result of a command line, with the information of its marks."""

    result: RunResult
    """The result without marks."""
    stdout: Sequence[str]
    """The standard output in parts, one for each command."""
    stderr: Sequence[str]
    """The standard error in parts, one for each command."""
    note: str | None = None
    """The command that failed, or that a limit ended: `line 2 of 5: ...`."""


def shell_argv(command: str) -> tuple[str, ...]:
    """The argv that runs the command line with marks."""
    options = ("bash", "-E", "-e", "-o", "pipefail", "-c", _MAIN, "bash")
    return (*options, _mark(command), shell_marks(), command)


def read_marks(command: str, result: RunResult) -> MarkedResult:
    """Read and remove the marks in the result of `shell_argv(command)`."""
    marks = re.compile(_mark(command) + _MARK_REST)
    stdout, stderr = (
        [part for part in marks.split(stream.text)[::4] if part]
        for stream in (result.stdout, result.stderr)
    )
    matches = list(marks.finditer(result.stderr.text))
    clean = replace(
        result,
        stdout=Stream("".join(stdout), result.stdout.dropped_bytes),
        stderr=Stream("".join(stderr), result.stderr.dropped_bytes),
    )
    note = _note(command, clean, matches[-1]) if matches else None
    return MarkedResult(clean, stdout, stderr, note)


def without_marks(command: str, text: str, *, is_complete: bool) -> str:
    """The output of `shell_argv(command)` so far without marks; its last part if it is not
    complete. A mark that is cut by an end of the text is removed, too."""
    mark = _mark(command)
    if not is_complete:
        text = re.sub(r"\A[^\x1e\x1f]*\x1f", "", text)
    text = re.sub(mark + _MARK_REST, "", text)
    start = text.rfind("\x1e")
    is_cut = start >= 0 and (text.startswith(mark, start) or mark.startswith(text[start:]))
    return text[:start] if is_cut else text


def _note(command: str, result: RunResult, last: re.Match[str]) -> str | None:
    """The note about the end of the command line, by its `last` mark."""
    if result.end is End.EXITED and last[1] == "step":
        return None
    lines = lines_of(command)
    number = min(int(last[2]), len(lines))
    position = f"line {number} of {len(lines)}: " if len(lines) > 1 else ""
    if last[1] == "step":
        return (
            f"in {position}`{one_line(lines[number - 1], COMMAND_CHARACTERS)}`"
            if position
            else None
        )
    statuses, _, text = last[3].partition("\n")
    codes = statuses.split()
    if len(codes) == 1 and command.strip() == text.strip():
        return None
    line = lines[number - 1]
    is_full_line = len(codes) > 1 or line.lstrip().startswith("! ")
    excerpt = one_line(line if is_full_line else text, COMMAND_CHARACTERS)
    skipped = "" if command.rstrip().endswith(text.rstrip()) else "; the rest did not run"
    return f"{position}`{excerpt}` exited {' | '.join(codes)}{skipped}"


def _mark(command: str) -> str:
    """The beginning of a mark. No program prints it by accident."""
    return f"\x1e{hashlib.sha256(command.encode(errors='replace')).hexdigest()[:16]}"
