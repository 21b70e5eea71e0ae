"""Run all rows of the table and count their outcomes by wire format.

python tests/support/quirks/count.py [-v] [WORDS OF AN ID]

`-v` shows the rows with an unexpected outcome.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[2]


async def main(arguments: list[str]) -> None:
    """Print a line for each wire format: the number of jobs that succeeded, that named the true
    reason, and that had another outcome than expected.
    """
    from integration.quirks.table import ROWS  # noqa: PLC0415
    from support.quirks.job import problems, run_row  # noqa: PLC0415

    words = " ".join(word for word in arguments if word != "-v")
    counts: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for row in (row for row in ROWS.values() if words in row.id):
            ran = await run_row(row, Path(folder))
            faults = problems(row, ran)
            end = "succeeded" if ran.state == "succeeded" else "true reason"
            counts.setdefault(row.wire, Counter())["wrong" if faults else end] += 1
            if faults and "-v" in arguments:
                print(f"{row.id} ({ran.seconds:.1f} s)", *faults, sep="\n    ")
    for wire, count in {**counts, "all": sum(counts.values(), Counter())}.items():
        kinds = ("succeeded", "true reason", "wrong")
        print(f"{wire:10}", ", ".join(f"{kind} {count[kind]}" for kind in kinds))


if __name__ == "__main__":
    sys.path[:0] = [str(TESTS), str(TESTS.parent)]
    asyncio.run(main(sys.argv[1:]))
