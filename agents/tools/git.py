"""The tool `git`: the history of the job's repository, read in a sandbox. Executors have it if the
job has a repository and the sandbox has the program."""

from __future__ import annotations

import shlex

from agents.attempt import Ports
from agents.errors import ToolRefused
from agents.runs.helper import run_helper
from agents.texts import fitting, lines_of
from agents.tools.call import Answer, Runtime
from agents.tools.run_tools import Words
from agents.tools.trace import of_use

PROGRAM = "git"
READS = ("log", "show", "blame", "diff")
_ARGV = (
    *(PROGRAM, "--no-pager", "-c", "safe.directory=*", "-c", "color.ui=never"),
    *("-c", "core.quotePath=false", "-c", "log.showSignature=false"),
)


async def git(command: Words, runtime: Runtime) -> Answer:
    """Read the repository's history: log, show, blame, or diff, which shows your changes.

    Args:
        command: Such as ["log", "-n5", "--", "src/app.py"].
    """
    ports: Ports = runtime.context
    words = command[1:] if command[:1] == [PROGRAM] else command
    if ports.repository is None or not words or words[0] not in READS:
        raise ToolRefused(f"this tool takes {', '.join(READS)}; a command line runs others")
    tree = await ports.workspace.tree()
    result = await run_helper(ports, tree.command((*_ARGV, *words)), "of git")
    if not result.succeeded:
        reason = result.stderr.text.strip()[-600:] or result.end.value
        raise ToolRefused(f"git {words[0]} failed: {reason}")
    text = _bounded(result.stdout.text, ports.bounds.read)
    return text or "(no output)", of_use("git", None, ok=True, note=shlex.join(words))


def _bounded(text: str, width: int) -> str:
    lines = lines_of(text)
    first_lines = fitting(lines, width)
    if len(first_lines) == len(lines):
        return text
    if not first_lines:
        return f"{text[:width]}\n[the line goes on]"
    more = len(lines) - len(first_lines)
    return f"{''.join(first_lines)}[{more} more lines: ask for less, as with -n5]"
