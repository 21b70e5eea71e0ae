"""A task on a repository, and the folders that have them.

NAME/task.json    see `Described`
NAME/base.bundle  a git bundle with one branch, main
NAME/fix.patch    the shipped fix; NAME/test.patch the hidden tests: for `git apply` on the base
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError, field_validator

from lab.evals.errors import BadSet

DESCRIPTION, BUNDLE, FIX, TESTS = "task.json", "base.bundle", "fix.patch", "test.patch"
COMMAND = "python -m pytest"
BUNDLE_HEADS = (b"# v2 git bundle\n", b"# v3 git bundle\n")
PROBLEMS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Base:
    """A task's repository: a bundle, or a `commit` of a bare repository (`mirror`)."""

    bundle: str | None = None
    mirror: str | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class RepoTask:
    """`fail_to_pass` and `pass_to_pass` are pytest ids: with `fix` and `tests` applied all of them
    pass, without `fix` no test of `fail_to_pass` passes. Patches are in git's format."""

    id: str
    problem: str
    base: Base
    fix: bytes
    tests: bytes
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    command: str = COMMAND
    level: str = ""
    then: str = ""
    """The task of the follow-up, for a task in two halves. Empty: the harness words it."""
    merged: bool = False
    """Whether the first half's change is on the branch when the follow-up begins."""

    @property
    def content(self) -> dict[str, Any]:
        """The content that a measurement depends on, except the repository itself; plain values."""
        fields = asdict(self) | {"base": self.base.commit}
        if not self.then:  # sets from before these fields keep their digest
            del fields["then"], fields["merged"]
        return fields | {"fix": self.fix.decode("latin-1"), "tests": self.tests.decode("latin-1")}

    def as_fields(self) -> dict[str, Any]:
        """As plain values, for `from_fields`."""
        return self.content | {"base": asdict(self.base)}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> RepoTask:
        """The task of `as_fields`."""
        listed = {name: tuple(fields[name]) for name in ("fail_to_pass", "pass_to_pass", "setup")}
        patches = {name: fields[name].encode("latin-1") for name in ("fix", "tests")}
        return cls(**{**fields, **listed, **patches, "base": Base(**fields["base"])})


@dataclass(frozen=True, slots=True)
class RepoSet:
    """Named tasks, in order, and their source; like `lab.evals.sources.exercise.ExerciseSet`."""

    name: str
    source: str
    exercises: Sequence[RepoTask]

    @property
    def digest(self) -> str:
        """sha256 of all tasks and repositories."""
        content = [[task.content, _refs(task.base)] for task in self.exercises]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class Described(BaseModel):
    """A task.json. Its other fields are for information (repo, base_commit, licence).

    `setup` are pinned requirements; `test_command` runs pytest, by a shell at the repository's
    root. `then` and `merged`: see `RepoTask`.
    """

    id: str = Field(min_length=1, max_length=200)
    problem: str = Field(min_length=1)
    fail_to_pass: tuple[str, ...] = Field(min_length=1)
    pass_to_pass: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    test_command: str = Field(COMMAND, min_length=1)
    difficulty: str = ""
    then: str = ""
    merged: bool = False

    @field_validator("setup", "pass_to_pass", mode="before")
    @classmethod
    def _none_is_empty(cls, value: Any) -> Any:
        return () if value is None else value

    @field_validator("difficulty", "id", mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        return "" if value is None else str(value)

    @field_validator("fail_to_pass", "pass_to_pass")
    @classmethod
    def _ids(cls, ids: tuple[str, ...]) -> tuple[str, ...]:
        """Check that ids are pytest's, relative to the root."""
        return tuple(dict.fromkeys(test_id.removeprefix("./") for test_id in ids))

    def task(self, base: Base, fix: bytes, tests: bytes) -> RepoTask:
        """The task with its repository and patches."""
        fields = self.model_dump(exclude={"test_command", "difficulty"})
        command, level = self.test_command, self.difficulty
        return RepoTask(base=base, fix=fix, tests=tests, command=command, level=level, **fields)


def read(folder: Path) -> list[RepoTask]:
    """The tasks in the folders of `folder`, or in itself, by name. Raises BadSet, which names each
    invalid one; folders without a task's files are skipped."""
    names = (DESCRIPTION, BUNDLE, FIX, TESTS)
    inside = sorted(subfolder for subfolder in folder.iterdir() if subfolder.is_dir())
    folders = [folder] if (folder / DESCRIPTION).exists() else inside
    folders = [
        subfolder for subfolder in folders if any((subfolder / name).exists() for name in names)
    ]
    return collect(
        folder, ((str(subfolder), partial(read_one, subfolder)) for subfolder in folders)
    )


def read_one(folder: Path) -> RepoTask:
    """The task in `folder`. Raises BadSet."""
    try:
        described = Described.model_validate_json((folder / DESCRIPTION).read_bytes())
        with (folder / BUNDLE).open("rb") as file:
            head = file.read(len(BUNDLE_HEADS[0]))
        fix, tests = (folder / FIX).read_bytes(), (folder / TESTS).read_bytes()
    except OSError as error:
        raise BadSet(f"{error.filename}: {error.strerror}") from None
    except ValidationError as error:
        raise BadSet(f"{folder / DESCRIPTION}: {reason(error)}") from None
    if head not in BUNDLE_HEADS:
        raise BadSet(f"{folder / BUNDLE}: it is no git bundle")
    return described.task(Base(bundle=str((folder / BUNDLE).resolve())), fix, tests)


def collect(source: Path, readers: Iterable[tuple[str, Callable[[], RepoTask]]]) -> list[RepoTask]:
    """The task of each reader, at least one. Raises BadSet with all faults."""
    tasks: dict[str, RepoTask] = {}
    problems = []
    for origin, read_task in readers:
        try:
            task = read_task()
        except BadSet as error:
            problems.append(str(error))
            continue
        if task.id in tasks:
            problems.append(f"{origin}: another task has the id {task.id!r}, too")
        tasks[task.id] = task
    if problems:
        more = len(problems) - PROBLEMS_SHOWN
        listed = [*problems[:PROBLEMS_SHOWN], *([f"and {more} more"] if more > 0 else [])]
        raise BadSet(f"{source} cannot be read", "; ".join(listed))
    if not tasks:
        raise BadSet(f"{source} has no task", f"a task is a folder with {DESCRIPTION}")
    return list(tasks.values())


def reason(error: ValidationError) -> str:
    """The first reason, with its position, in one line."""
    first = error.errors()[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))


def _refs(base: Base) -> list[str]:
    """The names and commits in a bundle's head; a mirror's commit is in the task already."""
    if base.bundle is None:
        return []
    with Path(base.bundle).open("rb") as file:
        return [line.decode(errors="replace") for line in takewhile(bytes.strip, file)]
