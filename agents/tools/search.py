"""The tool `search`: a regular expression over the files, in a sandbox.

A model's pattern can take exponential time (ReDoS), and Python's engine cannot be interrupted. In a
sandbox a limit ends it, and it delays no other job.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import Field

from agents.attempt import Ports
from agents.errors import ToolRefused
from agents.paths import in_workspace, visible
from agents.runs.helper import helper_limits, run_helper
from agents.sandbox_programs import ARGV, source
from agents.tools.call import Answer, Runtime
from agents.tools.ripgrep import PROGRAM, Search, by_ripgrep
from agents.tools.trace import of_use
from sandbox.protocol import End, Limits, RunResult


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
    asked = Search(pattern, files, ignore_case, max_results, ports.bounds.read)
    found = None
    if ports.repository is not None and PROGRAM in ports.environment.programs:
        found = await by_ripgrep(ports, asked)
    text = _formatted(found or await _by_python(ports, asked))
    return text, of_use("search", glob, ok=True, note=pattern)


async def _by_python(ports: Ports, asked: Search) -> dict[str, Any]:
    argv = (*ARGV, "-c", source("searching"))
    command = (await ports.workspace.tree()).command(argv, json.dumps(asdict(asked)).encode())
    result = await run_helper(ports, command, "of a search")
    return _answer(result, helper_limits(ports.limits, large=bool(command.layers)))


def _answer(result: RunResult, limits: Limits) -> dict[str, Any]:
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


def _formatted(answer: dict[str, Any]) -> str:
    lines = [f"{visible(path)}:{number}: {text}" for path, number, text in answer["matches"]]
    if not lines:
        return f"no match in {answer['files']} files"
    if answer["more"]:
        lines.append(
            f"[there are more than these {len(lines)} matches: use a narrower pattern or glob]"
        )
    return "\n".join(lines)
