"""Searches a repository by ripgrep, which leaves out what git ignores, and what lies in `.git`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.attempt import Ports
from agents.runs.helper import run_helper
from sandbox.protocol import RunResult

PROGRAM = "rg"
LINE = 300
_NO_MATCH = 1
_ARGV = (
    *(PROGRAM, "--no-config", "--color=never", "--no-heading", "--with-filename", "--null"),
    *("--line-number", "--hidden", "--sort=path", f"--max-columns={LINE}", "--max-columns-preview"),
    *("--no-messages", "--glob=!.git"),
)


@dataclass(frozen=True, slots=True)
class Search:
    """A regular expression, the files to search in by their names, and how much to answer."""

    pattern: str
    glob: str | None
    ignore_case: bool
    most: int
    characters: int


async def by_ripgrep(ports: Ports, search: Search) -> dict[str, Any] | None:
    """{matches: [[path, line, text]], more, files}; None where ripgrep does not answer: it does not
    know all of Python's expressions."""
    argv = [*_ARGV, *(["--ignore-case"] if search.ignore_case else [])]
    argv += [f"--glob={search.glob}"] if search.glob else []
    tree = await ports.workspace.tree()
    argv += ["--regexp", search.pattern, "./"]
    result = await run_helper(ports, tree.command(tuple(argv)), "of a search")
    if not (result.succeeded or result.exit_code == _NO_MATCH):
        return None
    matches, more = _within(result, search)
    return {"matches": matches, "more": more, "files": len(ports.workspace.list())}


def _within(result: RunResult, search: Search) -> tuple[list[tuple[str, int, str]], bool]:
    """The matches that fit, and whether there are more."""
    found: list[tuple[str, int, str]] = []
    left = search.characters
    for row in result.stdout.text.split("\n")[:-1]:
        path, null, rest = row.partition("\0")
        number, colon, text = rest.partition(":")
        if not (null and colon and number.isdecimal()):
            return found, True  # the output was cut here
        left -= len(path) + len(text) + 16
        if len(found) == search.most or left < 0:
            return found, True
        found.append((path.removeprefix("./"), int(number), text.rstrip("\r")))
    return found, result.stdout.dropped_bytes > 0
