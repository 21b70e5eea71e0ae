"""Reading a set of exercises by its name, or from a file."""

from __future__ import annotations

from pathlib import Path

from lab.evals.errors import BadSet
from lab.evals.sources import download, from_humaneval, from_lines, from_mbpp, own
from lab.evals.sources.exercise import Exercise, ExerciseSet
from lab.evals.sources.records import read

_PUBLISHED = {"humaneval": from_humaneval.exercise, "mbpp": from_mbpp.exercise}
NAMES = (*_PUBLISHED, "custom", "repos")


def data_file(name: str, data: Path | None, cache: Path) -> Path | None:
    """The file of a set; None for the exercises that come with Fettle. See `load`."""
    if name in _PUBLISHED:
        return data or download.downloaded(name, download.URLS[name], cache)
    return None if name == "custom" else Path(name)


def load(name: str, data: Path | None, cache: Path) -> ExerciseSet:
    """The set with this name, or in the file with this name. Raises BadSet.

    `data` is the file of HumanEval or MBPP; without one it is downloaded into `cache`.
    """
    path = data_file(name, data, cache)
    if path is None:
        return ExerciseSet(name, "lab/evals/exercises", tuple(own.exercises()))
    if name in _PUBLISHED:
        return ExerciseSet(name, path.name, _distinct(path, read(path, _PUBLISHED[name])))
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise BadSet(f"unknown set {name!r}", "", f"name {', '.join(NAMES)}, or a file FILE.jsonl")
    stem = path.name.removesuffix(".gz").removesuffix(".jsonl")
    return ExerciseSet(stem, path.name, _distinct(path, read(path, from_lines.exercise)))


def _distinct(path: Path, exercises: list[Exercise]) -> tuple[Exercise, ...]:
    ids: set[str] = set()
    for exercise in exercises:
        if exercise.id in ids:
            raise BadSet(f"{path}: two exercises have the id {exercise.id!r}")
        ids.add(exercise.id)
    return tuple(exercises)
