#!/usr/bin/env python3
"""`make size`: files, lines and the median file of each folder of Python.

It adds them up for the product, the laboratory and the tests. The exercises and repositories of
`lab/evals` are data: jobs work on them. A program writes the generated files.
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from pathlib import Path
from statistics import median

DATA = ("lab/evals/exercises/", "lab/evals/repositories/")
GENERATED = ("fettle/types.py", "fettle/_sync/")
TOTALS = {
    "tests": "= tests",
    "lab": "= laboratory",
    "lab's data": "= data",
    "generated": "= generated",
}
"""The sums, by folder. Other folders belong to the product."""


def main() -> None:
    """Print a line for each top folder of the repository, then the sums."""
    listed = subprocess.run(["git", "ls-files", "*.py"], capture_output=True, text=True, check=True)
    lengths: dict[str, list[int]] = defaultdict(list)
    for name in listed.stdout.split():
        lines = Path(name).read_text().count("\n")
        folder = "lab's data" if name.startswith(DATA) else name.partition("/")[0]
        if name.startswith(GENERATED):
            folder = "generated"
        for key in (folder, TOTALS.get(folder, "= product")):
            lengths[key].append(lines)
    print(f"{'':12} {'files':>6} {'lines':>7} {'median':>7}")
    for folder, files in sorted(
        lengths.items(), key=lambda item: (item[0].startswith("="), item[0])
    ):
        print(f"{folder:12} {len(files):6,} {sum(files):7,} {median(files):7.0f}")


if __name__ == "__main__":
    main()
