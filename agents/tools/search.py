"""The tool `search`: finds a regular expression in the files, in a sandbox.

A model's pattern can take exponential time (ReDoS), and Python's engine cannot be interrupted. In a
sandbox a limit ends the search, and it delays no other job. In a repository, ripgrep searches if
the sandbox has the program. It leaves out `.git` and the files that git ignores.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from pydantic import Field

from agents.attempt import Ports
from agents.errors import ToolRefused
from agents.paths import in_workspace, visible
from agents.runs.helper import helper_limits, run_helper
from agents.sandbox_programs import ARGV, source
from agents.tools.call import Answer, Runtime
from agents.tools.trace import of_use
from sandbox.protocol import End, Limits, RunResult

RIPGREP = "rg"
MOST_COLUMNS = 300
_NO_MATCH = 1
_ARGV = (
    *(RIPGREP, "--no-config", "--color=never", "--no-heading", "--with-filename", "--null"),
    *(
        "--line-number",
        "--hidden",
        "--sort=path",
        f"--max-columns={MOST_COLUMNS}",
        "--max-columns-preview",
    ),
    *("--no-messages", "--glob=!.git"),
)


@dataclass(frozen=True, slots=True)
class Search:
    """One call of the tool, as the program `sandbox_programs/searching.py` reads it."""

    pattern: str
    glob: str | None
    """A pattern for the names of files; None for all files."""
    ignore_case: bool
    most: int
    """The largest number of matches in the answer."""
    characters: int
    """The largest length of the answer."""


async def search(
    pattern: str,
    runtime: Runtime,
    glob: str | None = None,
    ignore_case: bool = False,
    max_results: Annotated[int, Field(ge=1, le=200)] = 50,
) -> Answer:
    """Find the lines of all files that match a Python regular expression.

    Args:
        glob: Only files such as `*.py` (in any directory) or `src/**/*.py`.
    """
    ports: Ports = runtime.context
    files = in_workspace(glob) if glob else None
    query = Search(pattern, files, ignore_case, max_results, ports.bounds.read)
    answer = None
    if ports.repository is not None and RIPGREP in ports.environment.programs:
        answer = await _search_by_ripgrep(ports, query)
    text = _render(answer or await _search_by_python(ports, query))
    return text, of_use("search", glob, ok=True, note=pattern)


async def _search_by_python(ports: Ports, query: Search) -> dict[str, Any]:
    argv = (*ARGV, "-c", source("searching"))
    command = (await ports.workspace.tree()).command(argv, json.dumps(asdict(query)).encode())
    result = await run_helper(ports, command, "of a search")
    return _read_answer(result, helper_limits(ports.limits, large=bool(command.trees)))


def _read_answer(result: RunResult, limits: Limits) -> dict[str, Any]:
    if result.end in {End.TIMEOUT, End.CPU}:
        raise ToolRefused(
            f"the search took longer than {limits.wall_seconds:g} s: the pattern backtracks "
            "too much (as (a+)+ does); make it simpler, or the glob narrower"
        )
    if not result.succeeded:
        last = result.stderr.text.strip().rpartition("\n")[2]
        raise ToolRefused(f"the search failed ({result.end.value}): {last or 'no reason given'}")
    answer: dict[str, Any] = json.loads(result.stdout.text)
    if "error" in answer:
        raise ToolRefused(answer["error"])
    return answer


def _render(answer: dict[str, Any]) -> str:
    lines = [f"{visible(path)}:{number}: {text}" for path, number, text in answer["matches"]]
    if not lines:
        return f"no match in {answer['files']} files"
    if answer["more"]:
        lines.append(
            f"[there are more than these {len(lines)} matches: use a narrower pattern or glob]"
        )
    return "\n".join(lines)


async def _search_by_ripgrep(ports: Ports, query: Search) -> dict[str, Any] | None:
    """{matches: [[path, line, text]], more, files}; None if ripgrep rejects the pattern, because it
    does not support all of Python's regular expressions."""
    argv = [*_ARGV, *(["--ignore-case"] if query.ignore_case else [])]
    argv += [f"--glob={query.glob}"] if query.glob else []
    tree = await ports.workspace.tree()
    argv += ["--regexp", query.pattern, "./"]
    result = await run_helper(ports, tree.command(tuple(argv)), "of a search")
    if not (result.succeeded or result.exit_code == _NO_MATCH):
        return None
    matches, more = _read_matches(result, query)
    return {"matches": matches, "more": more, "files": len(ports.workspace.list())}


def _read_matches(result: RunResult, query: Search) -> tuple[list[tuple[str, int, str]], bool]:
    """The matches that fit, and whether there are more."""
    matches: list[tuple[str, int, str]] = []
    remaining = query.characters
    for row in result.stdout.text.split("\n")[:-1]:
        path, null, numbered_line = row.partition("\0")
        number, colon, text = numbered_line.partition(":")
        if not (null and colon and number.isdecimal()):
            return matches, True  # the output was cut here
        remaining -= len(path) + len(text) + 16
        if len(matches) == query.most or remaining < 0:
            return matches, True
        matches.append((path.removeprefix("./"), int(number), text.rstrip("\r")))
    return matches, result.stdout.dropped_bytes > 0
