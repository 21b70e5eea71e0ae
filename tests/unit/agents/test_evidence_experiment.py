"""Which experiments are made on a verification, and what they show of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from agents.evidence.changes import ChangedFile, changed_files, reverted
from agents.evidence.conclusions import PASSES_BEFORE, no_evidence, notes_on
from agents.evidence.experiment import to_revert, tried_alone
from agents.evidence.run_experiments import Attempt, Experiments, Subject
from agents.ports.memory import MemoryRecord, MemoryWorkspace
from agents.tree import Tree
from sandbox.protocol import End, Limits, RunResult, Stream

MANY = ["a.py", "b.py", "c.py", "d.py", "e.py"]


def new(*paths: str) -> list[ChangedFile]:
    return [ChangedFile(path, None, b"x = 1\n") for path in paths]


@pytest.mark.parametrize(
    ("sources", "command", "expected"),
    [
        (["a.py"], "pytest", ["a.py"]),
        (["a.py", "b.py"], "pytest", ["a.py", "b.py"]),
        # a file that the command names is its driver
        (["a.py", "check.py"], "python check.py", ["a.py"]),
        (["a.py", "b.py", "main.py"], "python -m main", ["a.py", "b.py"]),
        (["s/core.py", "s/__init__.py"], "python -c 'import s.core'", ["s/__init__.py"]),
        (["Makefile", "a.c"], "make test", ["a.c"]),
        # if the command names all files, the first is the driver
        (["a.py", "b.py"], "python b.py a.py", ["a.py"]),
        (["a.py"], "python a.py", ["a.py"]),
        # tests are part of the verification, unless the job has changed nothing else
        (["a.py", "test_a.py", "tests/conftest.py"], "pytest", ["a.py"]),
        (["test_a.py"], "pytest", ["test_a.py"]),
        # a name within a word names no file
        (["a.py", "b.py"], "python data.py", ["a.py", "b.py"]),
        # no test imports the installer, and no data can be unable to load
        (["setup.py", "a.py", "data.json"], "pytest", ["a.py"]),
        (["setup.py"], "python -m build", ["setup.py"]),
    ],
)  # fmt: skip
def test_each_source_file_but_the_driver_is_tried(
    sources: list[str], command: str, expected: list[str]
) -> None:
    assert tried_alone(new(*sources), sources, command) == expected


def test_if_only_tests_were_changed_the_code_that_they_test_is_tried() -> None:
    assert tried_alone(new("test_a.py"), ["a.py", "test_a.py"], "pytest") == ["a.py"]


def test_the_largest_change_is_tried_first() -> None:
    small, large = ChangedFile("a.py", b"1\n2\n", b"1\n3\n"), ChangedFile("b.py", b"", b"1\n2\n3\n")
    assert tried_alone([small, large], [], "pytest") == ["b.py", "a.py"]


def test_deleted_files_are_reverted_and_cannot_be_broken() -> None:
    deleted = ChangedFile("old.py", b"x = 1\n", None)
    assert tried_alone([deleted, *new("a.py")], [], "pytest") == ["a.py"]
    assert to_revert([deleted], "pytest") == [deleted]


def test_tests_and_new_programs_of_the_command_are_not_reverted() -> None:
    changed = new("a.py", "test_a.py", "check.py", "data.json")
    paths = [file.path for file in to_revert(changed, "python check.py")]
    assert paths == ["a.py", "data.json"]


def test_a_reverted_tree_has_the_files_of_before() -> None:
    tree = Tree({"a.py": b"2", "new.py": b"", "kept.py": b""}, removed=frozenset({"old.py"}))
    changed = [
        ChangedFile("a.py", b"1", b"2"),
        ChangedFile("new.py", None, b""),
        ChangedFile("old.py", b"0", None),
    ]
    before = reverted(tree, changed)
    assert before.files == {"a.py": b"1", "old.py": b"0", "kept.py": b""}
    assert before.removed == frozenset()
    over_a_commit = reverted(Tree({"new.py": b""}, layers=("base",)), [changed[1]])
    assert (over_a_commit.files, over_a_commit.removed) == ({}, {"new.py"})


@dataclass
class Verification:
    """A verification that takes `seconds`, and fails if a file of `needs` cannot load. A run that
    needs longer than its limit is ended by it."""

    needs: Sequence[str] = ()
    seconds: float = 1.0
    slow: Mapping[str, float] = field(default_factory=dict)
    """By file, the seconds of a run in which it cannot load."""
    tried: list[list[str]] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)

    async def run(self, tree: Tree, limits: Limits) -> Attempt:
        broken = [path for path, data in tree.files.items() if b"ImportError" in data]
        self.tried.append(broken)
        self.limits.append(limits.wall_seconds)
        seconds = max([self.slow.get(path, self.seconds) for path in broken] or [self.seconds])
        cut = seconds > limits.wall_seconds
        failed = not set(broken).isdisjoint(self.needs)
        code = None if cut else int(failed)
        seconds = min(seconds, limits.wall_seconds)
        end = End.TIMEOUT if cut else End.EXITED
        result = RunResult(end, code, None, Stream(), Stream(), seconds)
        return Attempt.of(result, passed=result.succeeded)

    async def experiments(self, *paths: str, before: Sequence[ChangedFile] = ()) -> Experiments:
        subject = Subject(
            command="pytest",
            tree=Tree(dict.fromkeys(paths, b"x = 1\n")),
            seconds=self.seconds,
            limits=Limits(wall_seconds=self.seconds + 0.5),
            alone=paths,
            together=False,
            to_revert=before,
            run=self.run,
        )
        experiments = Experiments(subject)
        await experiments.make()
        return experiments


def problem_of(experiments: Experiments) -> str | None:
    subject = experiments.subject
    return no_evidence(subject.command, subject.alone, experiments.made, experiments.written)


def notes(experiments: Experiments) -> str:
    return "\n".join(notes_on(experiments.made, experiments.untried))


@pytest.mark.asyncio
async def test_each_file_that_is_not_exercised_is_named_and_blocks_nothing() -> None:
    made = await Verification(needs=["a.py"]).experiments("a.py", "b.py", "c.py")
    assert [each["replaced"] for each in made.made] == [["a.py"], ["b.py"], ["c.py"]]
    assert problem_of(made) is None
    assert "does not exercise b.py, c.py" in notes(made)


@pytest.mark.asyncio
async def test_a_verification_that_exercises_no_file_is_no_evidence() -> None:
    made = await Verification().experiments("a.py", "b.py")
    assert "still passes when a.py, b.py cannot be loaded" in str(problem_of(made))


@pytest.mark.asyncio
async def test_an_experiment_that_a_limit_ended_shows_nothing() -> None:
    made = await Verification(slow={"a.py": 60}).experiments("a.py")
    assert [(each["still_green"], each["undecided"]) for each in made.made] == [(False, True)]
    assert problem_of(made) is None
    assert "a limit ended the verification, so this shows nothing" in notes(made)


@pytest.mark.asyncio
async def test_a_verification_that_needs_nearly_all_of_its_time_is_decided() -> None:
    """It has to be decided although a run takes a little longer than the verification did."""
    slow = Verification(seconds=11.5, slow={"a.py": 12.4})
    made = await slow.experiments("a.py")
    assert "cannot be loaded" in str(problem_of(made))


@pytest.mark.asyncio
async def test_more_than_eight_files_are_decided_together_first() -> None:
    paths = [f"m{number}.py" for number in range(12)]
    hollow, honest = Verification(), Verification(needs=["m11.py"])
    made = await hollow.experiments(*paths)
    assert "cannot be loaded" in str(problem_of(made))
    made = await honest.experiments(*paths)
    assert problem_of(made) is None
    assert [len(group) for group in honest.tried] == [12, *[1] * 8]


@pytest.mark.asyncio
@pytest.mark.parametrize(("seconds", "most"), [(0.5, 20), (30, 60), (600, 1200)])
async def test_experiments_take_at_most_twice_the_verification_s_time(
    seconds: float, most: float
) -> None:
    verification = Verification(seconds=seconds, slow={"c.py": 5_000})
    made = await verification.experiments(*MANY, before=new("a.py"))
    assert made.seconds <= most
    if seconds > 20:
        assert verification.tried[0] == MANY  # it is known at least whether any file is exercised
        assert "No time was left to try" in notes(made)


@pytest.mark.asyncio
async def test_a_verification_that_passes_without_the_change_is_noted_and_not_blocked() -> None:
    changed = [ChangedFile("a.py", b"x = 0\n", b"x = 1\n")]
    made = await Verification(needs=["a.py"]).experiments("a.py", before=changed)
    assert [each["kind"] for each in made.made] == ["before", "unloadable"]
    assert problem_of(made) is None
    assert notes(made) == PASSES_BEFORE
    assert list(notes_on(made.made, (), same_behaviour=True)) == []


@pytest.mark.asyncio
async def test_changed_files_are_those_that_differ_from_the_job_s_start() -> None:
    record = MemoryRecord()
    files = {"a.py": b"1\n", "old.py": b"", "same.csv": b"1"}
    workspace = MemoryWorkspace(record, files)
    start = workspace.digest
    await workspace.apply({"a.py": b"2\n", "new.py": b""}, frozenset({"old.py"}))
    of_job = {"job": {"start": start}, "artifacts": {}}
    found = await changed_files(of_job, workspace)
    assert [(each.path, each.before, each.after) for each in found] == [
        ("a.py", b"1\n", b"2\n"), ("new.py", None, b""), ("old.py", b"", None),
    ]  # fmt: skip
    older = {"job": {}, "artifacts": {"new.py": {}}}
    assert [each.path for each in await changed_files(older, workspace)] == ["new.py"]
