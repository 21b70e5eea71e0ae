"""`python -m benchmarks.repair [--json]`: how failures are classified and repaired.

Keys of the JSON line: `programs` and `classified_right`, `paths` and `paths_right`, `seconds`.
Exit code 1 where one of them is wrong.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Any

import click

from benchmarks.repair.paths import PATHS
from benchmarks.repair.programs import Classified, load, run_all
from benchmarks.repair.walk import Walked, walk_all
from cli.output import Screen, print_json
from sandbox.local import LocalSandbox
from settings.sandbox import sandbox_python


async def measured() -> tuple[list[Classified], list[Walked]]:
    """All programs, then all paths."""
    sandbox = LocalSandbox(sandbox_python(), pool_size=2)
    try:
        return await run_all(sandbox, load()), await walk_all(sandbox, PATHS)
    finally:
        await sandbox.close()


def show(screen: Screen, classified: Sequence[Classified], walked: Sequence[Walked]) -> None:
    """A row for each class and each path, and the details of each error."""
    kinds = list(dict.fromkeys(each.program.kind for each in classified))
    rows = []
    for kind in kinds:
        right = [each.right for each in classified if each.program.kind == kind]
        rows.append((kind, f"{sum(right)} of {len(right)}"))
    screen.rows(("CLASS", "RIGHT"), rows)
    screen.rows(("PATH", "END", ""), [_row(each) for each in walked])
    for each in classified:
        if not each.right:
            wrong = f"{each.program.kind}/{each.program.name}"
            screen.line(wrong, f"classified as {each.failure.kind}: {each.failure.cause}")


def _row(walked: Walked) -> tuple[str, str, str]:
    came, should = _came(walked.end, walked.repairs), _came(walked.path.end, walked.path.repairs)
    if walked.files != walked.path.files:
        should += f", with {dict(walked.path.files)} and not {dict(walked.files)}"
    if walked.unused:
        should += f", with {walked.unused} more turns"
    return walked.path.name, came, "right" if walked.right else f"should be: {should}"


def _came(end: str, repairs: Sequence[int]) -> str:
    return "; ".join((end, *(f"repaired at level {level}" for level in repairs)))


def summed(
    classified: Sequence[Classified], walked: Sequence[Walked], seconds: float
) -> dict[str, Any]:
    """The figures of the JSON line."""
    return {
        "programs": len(classified),
        "classified_right": sum(each.right for each in classified),
        "paths": len(walked),
        "paths_right": sum(each.right for each in walked),
        "seconds": round(seconds, 1),
    }


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print one JSON object as the last line")
def main(as_json: bool) -> None:
    """Run every program, and walk every path."""
    begun = time.monotonic()
    screen = Screen(stderr=as_json)
    classified, walked = asyncio.run(measured())
    show(screen, classified, walked)
    figures = summed(classified, walked, time.monotonic() - begun)
    if as_json:
        print_json(figures)
    else:
        screen.line("repair", ", ".join(f"{name} {value}" for name, value in figures.items()))
    wrong = figures["programs"] - figures["classified_right"]
    sys.exit(1 if wrong or figures["paths"] - figures["paths_right"] else 0)


if __name__ == "__main__":
    main()
