"""Reading a set of exercises by its name, or from a file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bench.humaneval import problems
from bench.quality import download, from_humaneval, from_lines, from_mbpp, own
from bench.quality.errors import BadSet
from bench.quality.exercise import Exercise, ExerciseSet

NAMES = ("humaneval", "mbpp", "custom")
_GZIP = b"\x1f\x8b"


def load(name: str, data: Path | None, cache: Path) -> ExerciseSet:
    """The set of this name, or in the file of this name. Raises BadSet.

    `data` is the file of HumanEval or MBPP; without one it is downloaded into `cache`.
    """
    if name == "custom":
        return ExerciseSet(name, "bench/exercises", tuple(own.exercises()))
    if name in NAMES:
        path = data or download.downloaded(name, download.URLS[name], cache)
        return ExerciseSet(name, path.name, _distinct(path, _published(name, path)))
    path = Path(name)
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise BadSet(
            f"there is no set {name!r}", "", f"it is {', '.join(NAMES)}, or a file FILE.jsonl"
        )
    stem = path.name.removesuffix(".gz").removesuffix(".jsonl")
    return ExerciseSet(stem, path.name, _distinct(path, _read(path, from_lines.exercise)))


def _published(name: str, path: Path) -> list[Exercise]:
    if name == "mbpp":
        return _read(path, from_mbpp.exercise)
    try:
        return [from_humaneval.exercise(problem) for problem in problems.read(path)]
    except (problems.BadProblems, ValueError) as error:
        raise BadSet("HumanEval cannot be read", str(error)) from None


def _read(path: Path, made: Callable[[Mapping[str, Any]], Exercise]) -> list[Exercise]:
    found = []
    for number, line in _lines(path):
        try:
            found.append(made(json.loads(line)))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise BadSet(f"{path}:{number} is no exercise", f"{where}: {first['msg']}") from None
        except KeyError as error:
            raise BadSet(f"{path}:{number} is no exercise", f"{error} is missing") from None
        except (ValueError, TypeError, AttributeError, SyntaxError) as error:
            raise BadSet(f"{path}:{number} is no exercise", str(error)) from None
    return found


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data.startswith(_GZIP) else data).decode()
    except (OSError, EOFError, ValueError) as error:
        raise BadSet(f"{path} cannot be read", str(error)) from None
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line


def _distinct(path: Path, exercises: list[Exercise]) -> tuple[Exercise, ...]:
    if not exercises:
        raise BadSet(f"{path}: there is no exercise in it")
    seen: set[str] = set()
    for exercise in exercises:
        if exercise.id in seen:
            raise BadSet(f"{path}: two exercises have the id {exercise.id!r}")
        seen.add(exercise.id)
    return tuple(exercises)
