"""`python -m lab.benchmarks.repair [--json]`: how failures are classified and repaired.

Keys of the JSON line: `programs` and `classified_right`, `paths` and `paths_right`. Exit code 1 if
a result is wrong.
"""

from __future__ import annotations

import asyncio
import sys

import click

from cli.output import Screen, print_json
from lab.benchmarks.repair.paths import PATHS
from lab.benchmarks.repair.programs import Classified, load, run_all
from lab.benchmarks.repair.walk import WalkedPath, walk_all
from sandbox.local import LocalSandbox
from settings.sandbox import sandbox_python


async def measured() -> tuple[list[Classified], list[WalkedPath]]:
    """Run all programs, then all paths."""
    sandbox = LocalSandbox(sandbox_python(), pool_size=2)
    try:
        return await run_all(sandbox, load()), await walk_all(sandbox, PATHS)
    finally:
        await sandbox.close()


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print one JSON object as the last line")
def main(as_json: bool) -> None:
    """Run every program, and walk every path; print the wrong results."""
    screen = Screen(stderr=as_json)
    classified, walked = asyncio.run(measured())
    wrong = [str(program) for program in classified if not program.right]
    wrong += [str(path) for path in walked if not path.right]
    for description in wrong:
        screen.line("wrong", description)
    figures = {
        "programs": len(classified),
        "classified_right": sum(program.right for program in classified),
        "paths": len(walked),
        "paths_right": sum(path.right for path in walked),
    }
    screen.line("repair", ", ".join(f"{name} {value}" for name, value in figures.items()))
    if as_json:
        print_json(figures)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
