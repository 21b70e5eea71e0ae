"""Which experiments Fettle makes with a verification, and the conclusions from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from agents.evidence.changed_code import CALLS, LOADED, ChangedCode, Function, Mutation
from agents.evidence.changes import ChangedFile, changed_files, reverted
from agents.evidence.conclusions import PASSES_BEFORE, notes_on_tests
from agents.evidence.exercised_files import files_to_exercise, files_to_revert
from agents.evidence.experiments import (
    SECONDS,
    ExperimentRun,
    Experiments,
    Subject,
)
from agents.graph.memory_ports import MemoryRecord, MemoryWorkspace
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
        # tests are part of the verification, unless the job has changed only tests
        (["a.py", "test_a.py", "tests/conftest.py"], "pytest", ["a.py"]),
        (["test_a.py"], "pytest", ["test_a.py"]),
        # a name within a word names no file
        (["a.py", "b.py"], "python data.py", ["a.py", "b.py"]),
        # no test imports the installer, and data cannot fail to load
        (["setup.py", "a.py", "data.json"], "pytest", ["a.py"]),
        (["setup.py"], "python -m build", ["setup.py"]),
    ],
)  # fmt: skip
def test_each_source_file_but_the_driver_is_tried(
    sources: list[str], command: str, expected: list[str]
) -> None:
    assert files_to_exercise(new(*sources), sources, command) == expected


def test_if_only_tests_were_changed_the_code_that_they_test_is_tried() -> None:
    assert files_to_exercise(new("test_a.py"), ["a.py", "test_a.py"], "pytest") == ["a.py"]


def test_the_largest_change_is_tried_first() -> None:
    small, large = ChangedFile("a.py", b"1\n2\n", b"1\n3\n"), ChangedFile("b.py", b"", b"1\n2\n3\n")
    assert files_to_exercise([small, large], [], "pytest") == ["b.py", "a.py"]


def test_deleted_files_are_reverted_and_cannot_be_broken() -> None:
    deleted = ChangedFile("old.py", b"x = 1\n", None)
    assert files_to_exercise([deleted, *new("a.py")], [], "pytest") == ["a.py"]
    assert files_to_revert([deleted], "pytest") == [deleted]


def test_tests_and_new_programs_of_the_command_are_not_reverted() -> None:
    changed = new("a.py", "test_a.py", "check.py", "data.json")
    paths = [file.path for file in files_to_revert(changed, "python check.py")]
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
    folder = reverted(Tree({"a/test_b.py": b""}), [ChangedFile("a", b"1", None)])
    assert folder.files == {"a": b"1"}
    over_a_commit = reverted(Tree({"new.py": b""}, layers=("base",)), [changed[1]])
    assert (over_a_commit.files, over_a_commit.removed) == ({}, {"new.py"})


@dataclass
class Verification:
    """A verification that takes `seconds`, and fails if a file of `needs` cannot load. A run that
    needs more time than its limit is ended by the limit.
    """

    needs: Sequence[str] = ()
    seconds: float = 1.0
    slow: Mapping[str, float] = field(default_factory=dict)
    """By file, the seconds of a run in which the file cannot load."""
    tried: list[list[str]] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)

    code: ChangedCode = field(default_factory=ChangedCode)
    runs: Sequence[int] = ()
    """The numbers of the functions of `code` that the verification runs."""
    notices: Sequence[bytes] = ()
    """The texts of the mutations with which the verification fails."""

    async def run(self, tree: Tree, limits: Limits) -> ExperimentRun:
        stops = (b"ImportError", b"exit 97")
        broken = [path for path, data in tree.files.items() if any(stop in data for stop in stops)]
        self.tried.append(broken)
        self.limits.append(limits.wall_seconds)
        seconds = max([self.slow.get(path, self.seconds) for path in broken] or [self.seconds])
        cut = seconds > limits.wall_seconds
        content = b"".join(tree.files.values())
        failed = not set(broken).isdisjoint(self.needs) or any(
            text in content for text in self.notices
        )
        seconds = min(seconds, limits.wall_seconds)
        end = End.TIMEOUT if cut else End.EXITED
        calls = "".join(f"{number}\n" for number in (LOADED, *self.runs)).encode()
        result = RunResult(
            end, None if cut else int(failed), None, Stream(), Stream(), seconds, {CALLS: calls}
        )
        return ExperimentRun.of(result, passed=result.succeeded)

    async def read(self, files: Sequence[ChangedFile]) -> ChangedCode:
        assert files
        return self.code

    async def experiments(
        self, *paths: str, before: Sequence[ChangedFile] = (), job: Sequence[ChangedFile] = ()
    ) -> Experiments:
        subject = Subject(
            command="pytest",
            tree=Tree(dict.fromkeys(paths, CODE)),
            changed=job or new(*paths),
            seconds=self.seconds,
            limits=Limits(wall_seconds=self.seconds + 0.5),
            to_exercise=paths,
            to_revert=before,
            run=self.run,
            read=self.read,
        )
        experiments = Experiments(subject)
        await experiments.make()
        return experiments


CODE = b"def add(a, b):\n    return a + b\n"
ADD = Function(path="a.py", name="add", at=15, indent="    ", line=1, end_line=2)
SUB = ADD.model_copy(update={"name": "sub", "line": 4, "end_line": 5})
MUTATIONS = [
    Mutation(path="a.py", line=2, start=28, end=29, text=text, before="a + b", after=f"a {text} b")
    for text in ("-", "*", "//")
]


def problem_of(experiments: Experiments) -> str | None:
    return experiments.results.problem()


def notes(experiments: Experiments) -> str:
    return "\n".join(experiments.results.notes())


def made_of(experiments: Experiments) -> list[tuple[list[str], bool, bool]]:
    results = experiments.results.experiments
    return [
        (experiment["replaced"], experiment["still_green"], experiment["undecided"])
        for experiment in results
    ]


@pytest.mark.asyncio
async def test_each_unexercised_file_is_named_and_does_not_block() -> None:
    results = await Verification(needs=["a.py"]).experiments("a.py", "b.py", "c.py")
    assert made_of(results) == [
        (["a.py"], False, False), (["b.py"], True, False), (["c.py"], True, False),
    ]  # fmt: skip
    assert problem_of(results) is None
    assert "does not exercise b.py, c.py" in notes(results)


@pytest.mark.asyncio
async def test_a_verification_that_exercises_no_file_is_no_evidence() -> None:
    results = await Verification().experiments("a.py", "b.py")
    assert "still passes when a.py, b.py cannot be loaded" in str(problem_of(results))


@pytest.mark.asyncio
async def test_an_experiment_that_a_limit_ended_proves_nothing() -> None:
    results = await Verification(slow={"a.py": 60}).experiments("a.py")
    assert made_of(results) == [(["a.py"], False, True)]
    assert problem_of(results) is None
    assert "a limit ended the run, so it shows nothing" in notes(results)


@pytest.mark.asyncio
async def test_a_verification_that_needs_nearly_all_of_its_time_is_decided() -> None:
    """The experiment must be decided although its run takes a little longer than the
    verification.
    """
    slow = Verification(seconds=11.5, slow={"a.py": 12.4})
    results = await slow.experiments("a.py")
    assert "cannot be loaded" in str(problem_of(results))


@pytest.mark.asyncio
async def test_more_than_eight_files_are_decided_together_first() -> None:
    paths = [f"m{number}.py" for number in range(12)]
    hollow, honest = Verification(), Verification(needs=["m11.py"])
    results = await hollow.experiments(*paths)
    assert "cannot be loaded" in str(problem_of(results))
    results = await honest.experiments(*paths)
    assert problem_of(results) is None
    assert [len(group) for group in honest.tried] == [12, *[1] * 8]


@pytest.mark.asyncio
@pytest.mark.parametrize(("seconds", "most"), [(0.5, 20), (30, 60), (600, 1200)])
async def test_experiments_take_at_most_twice_the_verification_s_time(
    seconds: float, most: float
) -> None:
    verification = Verification(seconds=seconds, slow={"c.py": 5_000})
    results = await verification.experiments(*MANY, before=new("a.py"))
    assert results.seconds <= most
    if seconds > 20:
        assert verification.tried[0] == MANY  # at least it is known whether any file is exercised
        assert "No time was left to try" in notes(results)


@pytest.mark.asyncio
async def test_a_verification_that_passes_without_the_change_is_noted_and_not_blocked() -> None:
    changed = [ChangedFile("a.py", b"x = 0\n", b"x = 1\n")]
    results = await Verification(needs=["a.py"]).experiments("a.py", before=changed)
    kinds = [experiment["kind"] for experiment in results.results.experiments]
    assert kinds == ["before", "unloadable"]
    assert problem_of(results) is None
    assert notes(results) == PASSES_BEFORE
    assert list(results.results.notes(same_behaviour=True)) == []


@pytest.mark.asyncio
async def test_a_note_reports_that_no_time_remained_for_the_state_before() -> None:
    verification = Verification(needs=["a.py"], seconds=15, slow={"a.py": 16})
    results = await verification.experiments("a.py", before=new("a.py"))
    assert [experiment["kind"] for experiment in results.results.experiments] == ["unloadable"]
    assert "No time was left to try the state before the job." in notes(results)


@pytest.mark.asyncio
async def test_a_verification_that_executes_no_changed_function_is_no_evidence() -> None:
    code = ChangedCode(functions=[ADD, SUB], mutations=MUTATIONS)
    results = await Verification(needs=["a.py"], code=code).experiments("a.py")
    problem = str(problem_of(results))
    assert "executes none of the functions that the job wrote or changed (a.py::add" in problem
    assert results.results.strength is None


@pytest.mark.asyncio
async def test_functions_that_are_not_executed_are_named() -> None:
    code = ChangedCode(functions=[ADD, SUB])
    results = await Verification(needs=["a.py"], code=code, runs=[0]).experiments("a.py")
    assert problem_of(results) is None
    assert results.results.calls is not None
    names = results.results.calls.record()
    assert names == {"executed": ["a.py::add"], "not_executed": ["a.py::sub"]}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("paths", "with_code"), [(["a.py", "run.sh"], []), (["a.py", "limits.py"], ["limits.py"])]
)
async def test_other_changed_code_is_evidence_although_no_function_runs(
    paths: list[str], with_code: list[str]
) -> None:
    code = ChangedCode(functions=[ADD], with_code=with_code)
    verification = Verification(needs=paths, code=code)
    assert problem_of(await verification.experiments(*paths)) is None
    only_imports = Verification(needs=["a.py", "__init__.py"], code=code)
    assert problem_of(await only_imports.experiments("a.py", "__init__.py")) is not None


@pytest.mark.asyncio
async def test_a_run_that_fails_because_of_the_measurement_proves_nothing() -> None:
    code = ChangedCode(functions=[ADD])
    strict = Verification(needs=["a.py"], code=code, notices=[b"_fettle_ran"])
    results = await strict.experiments("a.py")
    assert (problem_of(results), results.results.calls) == (None, None)


@pytest.mark.asyncio
async def test_mutations_are_counted_and_unnoticed_mutations_are_named() -> None:
    code = ChangedCode(functions=[ADD], mutations=MUTATIONS)
    verification = Verification(needs=["a.py"], code=code, runs=[0], notices=[b"a - b", b"a // b"])
    results = await verification.experiments("a.py")
    assert results.results.strength == {
        "noticed": 2,
        "tried": 3,
        "untried": 0,
        "unnoticed": [{"path": "a.py", "line": 2, "before": "a + b", "after": "a * b"}],
    }
    assert (problem_of(results), notes(results)) == (None, "")


@pytest.mark.asyncio
async def test_a_mutation_of_a_function_that_does_not_run_is_unnoticed_without_a_run() -> None:
    elsewhere = [experiment.model_copy(update={"line": 5}) for experiment in MUTATIONS]
    code = ChangedCode(functions=[ADD, SUB], mutations=elsewhere)
    verification = Verification(needs=["a.py"], code=code, runs=[0], notices=[b"RuntimeError"])
    results = await verification.experiments("a.py")
    assert results.results.strength is not None
    assert (results.results.strength["noticed"], results.results.strength["tried"]) == (0, 3)
    # the runs: a.py unable to load, the measurement, errors in the executed functions
    assert len(verification.tried) == 3


@pytest.mark.asyncio
@pytest.mark.parametrize(("notices", "holds"), [([], False), ([b"RuntimeError"], True)])
async def test_a_verification_that_hides_all_errors_is_no_evidence(
    notices: list[bytes], holds: bool
) -> None:
    code = ChangedCode(functions=[ADD, SUB], mutations=MUTATIONS)
    hides = Verification(needs=["a.py"], code=code, runs=[0], notices=notices)
    problem = problem_of(await hides.experiments("a.py"))
    assert (problem is None) is holds
    assert holds or "functions that it executes (a.py::add) raise an error" in str(problem)


@pytest.mark.asyncio
async def test_a_mutation_of_a_constant_that_is_noticed_is_evidence_without_a_function() -> None:
    constant = [MUTATIONS[0].model_copy(update={"line": 90})]
    code = ChangedCode(functions=[ADD], mutations=constant, with_code=["a.py"])
    tested = Verification(needs=["a.py"], code=code, notices=[b"a - b"])
    assert problem_of(await tested.experiments("a.py")) is None
    imported = Verification(needs=["a.py"], code=code)
    assert "executes none" in str(problem_of(await imported.experiments("a.py")))


@pytest.mark.parametrize(
    ("path", "before", "after", "note"),
    [
        ("test_a.py", b"1", b"2", "changed existing tests: test_a.py."),
        ("test_a.py", b"1", None, "deleted existing tests: test_a.py."),
        ("test_a.py", None, b"1", ""),
        ("tests/data.json", b"1", b"2", ""),
        ("a.py", b"1", b"2", ""),
        ("conftest.py", None, b"import pytest\n", ""),
        (
            "conftest.py", None, b"def pytest_runtest_makereport():\n    pass\n",
            "added or changed a file with pytest hooks: conftest.py.",
        ),
    ],
)  # fmt: skip
def test_changes_that_can_weaken_tests_are_noted(
    path: str, before: bytes | None, after: bytes | None, note: str
) -> None:
    expected = [f"The job {note}"] if note else []
    assert notes_on_tests([ChangedFile(path, before, after)]) == expected


TESTS = b"""import pytest
from a import add


def test_one():
    assert add(1, 0) == 1


@pytest.mark.slow
def test_two():
    assert add(1, 1) == 2


class TestMore:
    def test_three(self):
        assert add(1, 2) == 3
"""
ADDED = b"@pytest.mark.slow\ndef test_new():\n    assert add(1, 1) == 2\n\n\n"


@pytest.mark.parametrize(
    ("old", "new", "is_noted"),
    [
        (b"", ADDED, False),
        (b"\n\n@pytest.mark.slow\ndef", b"\n\n" + ADDED + b"@pytest.mark.slow\ndef", False),
        (b"class TestMore:\n", b"class TestMore:\n    def test_0(self):\n        pass\n\n", False),
        (b"import add", b"import add\nfrom a import sub\n\nCASES = [\n    1,\n]", False),
        (b"def test_one", b"@pytest.mark.skip\ndef test_one", True),
        (b"def test_one", b"@pytest.mark.skipif(\n    True,\n)\ndef test_one", True),
        (b"():\n    assert add(1, 0)", b"():\n    return\n    assert add(1, 0)", True),
        (b"== 3", b"== 4", True),
        (b"import add\n", b"import add\npytestmark = pytest.mark.skip\n", True),
        (b"def test_two():\n    assert add(1, 1) == 2\n", b"", True),
    ],
)
def test_a_test_added_to_a_file_changes_no_existing_test(
    old: bytes, new: bytes, is_noted: bool
) -> None:
    after = TESTS.replace(old, new, 1) if old else TESTS + b"\n\n" + new
    assert after != TESTS
    notes = notes_on_tests([ChangedFile("test_a.py", TESTS, after)])
    assert notes == (["The job changed existing tests: test_a.py."] if is_noted else [])


@pytest.mark.asyncio
async def test_no_mutation_is_tried_after_the_time_limit() -> None:
    code = ChangedCode(functions=[ADD], mutations=MUTATIONS * 7)
    verification = Verification(needs=["a.py"], code=code, runs=[0], seconds=3)
    results = await verification.experiments("a.py")
    assert results.seconds <= SECONDS
    strength = results.results.strength
    assert strength is not None
    assert (strength["tried"], strength["untried"], notes(results)) == (4, 17, "")


@pytest.mark.asyncio
async def test_a_note_reports_that_no_time_remained_for_mutations() -> None:
    code = ChangedCode(functions=[ADD], mutations=MUTATIONS)
    verification = Verification(needs=["a.py"], code=code, runs=[0], seconds=9)
    results = await verification.experiments("a.py")
    assert results.results.strength is None
    assert notes(results) == "No time was left to try small changes of the code."


@pytest.mark.asyncio
async def test_changed_files_are_those_that_differ_from_the_job_s_start() -> None:
    record = MemoryRecord()
    files = {"a.py": b"1\n", "old.py": b"", "same.csv": b"1"}
    workspace = MemoryWorkspace(record, files)
    start = workspace.digest
    await workspace.apply({"a.py": b"2\n", "new.py": b""}, frozenset({"old.py"}))
    of_job = {"job": {"start": start}, "artifacts": {}}
    changes = await changed_files(of_job, workspace)
    assert [(experiment.path, experiment.before, experiment.after) for experiment in changes] == [
        ("a.py", b"1\n", b"2\n"), ("new.py", None, b""), ("old.py", b"", None),
    ]  # fmt: skip
    older = {"job": {}, "artifacts": {"new.py": {}}}
    assert [experiment.path for experiment in await changed_files(older, workspace)] == ["new.py"]
