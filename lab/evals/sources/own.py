"""The exercises that come with Fettle: `lab/evals/exercises/LEVEL/NAME/`.

Each folder has `task.md`, `tests.py`, `right.py` and `wrong.py`, which is wrong but plausible.
"""

from __future__ import annotations

from pathlib import Path

from lab.evals.sources.exercise import SOLUTION, Exercise

FOLDER = Path(__file__).resolve().parent.parent / "exercises"
LEVELS = ("easy", "medium", "hard")

ENDING = """
Write it into the file `solution.py`, before you run anything; then run a program that checks it.
The standard library is there, and numpy and pandas.
"""


def exercises(folder: Path = FOLDER) -> list[Exercise]:
    """All exercises, the easy ones first."""
    return [_read(level, path) for level in LEVELS for path in sorted((folder / level).iterdir())]


def _read(level: str, folder: Path) -> Exercise:
    def text(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    return Exercise(
        id=folder.name,
        task=text("task.md") + ENDING,
        tests={f"test_{folder.name}.py": text("tests.py")},
        level=level,
        right={SOLUTION: text("right.py")},
        wrong={SOLUTION: text("wrong.py")},
    )
