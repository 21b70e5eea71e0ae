"""Experiments: whether a verification can fail. The same command runs again over changed files.

Experiments on files, which are on record as `agents.evidence.record.Experiment` of this kind:

before       the files that the job changed are reverted to the state before the job; its tests stay
unloadable   one file that the verification has to exercise cannot load, or all of them together

Experiments on functions, which add to `agents.evidence.conclusions.Results`:

calls        each changed function records that it runs, or raises an error if the verification
             returns no files
strength     one small change of the code (a mutation); there are several
hides_errors each changed function that runs raises an error, if no mutation was noticed

`agents.evidence.exercised_files` chooses the files. All experiments together take at most twice the
verification's own time, or SECONDS if that is more. An experiment that no longer fits is not made,
and a note says so. An experiment that a limit ended shows nothing.

See ADR 79.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from agents.evidence.changed_code import (
    CALLS,
    Calls,
    ChangedCode,
    Function,
    Mutation,
    calls_in,
    raising,
    recording,
)
from agents.evidence.changes import ChangedFile, reverted
from agents.evidence.conclusions import Results
from agents.evidence.record import ExperimentKind, Strength, experiment
from agents.runs.sources import is_test, unloadable
from agents.tree import Tree
from sandbox.protocol import End, Limits, RunResult

MOST_ONE_BY_ONE = 8
"""The largest number of files that are made unable to load one by one."""
SECONDS = 20.0
"""The seconds that all experiments on a fast verification may take together."""
_MARGIN_SECONDS = 2.0
"""The time limit of an experiment is twice the verification's time and these seconds."""
_EXPECTED_FACTOR = 1.2
"""The expected time of an experiment, as a multiple of the verification's time."""


@dataclass(frozen=True, slots=True)
class ExperimentRun:
    """One run of the verification: whether it passed, and whether a limit ended it."""

    passed: bool
    result: RunResult
    cut: bool = False

    @classmethod
    def of(cls, result: RunResult, *, passed: bool) -> ExperimentRun:
        """A run of a command."""
        by_itself = result.end in {End.EXITED, End.SIGNALED}
        return cls(passed, result, cut=not passed and not by_itself)


@dataclass(frozen=True, slots=True)
class Subject:
    """A verification that passed, on which experiments are made."""

    command: str
    """The command of the verification, in the form for people."""
    tree: Tree
    changed: Sequence[ChangedFile]
    seconds: float
    """The duration of the verification."""
    limits: Limits
    to_exercise: Sequence[str]
    """The files that it has to exercise; see `exercised_files.files_to_exercise`."""
    to_revert: Sequence[ChangedFile]
    """Empty: there is no state before the job."""
    run: Callable[[Tree, Limits], Awaitable[ExperimentRun]]
    """Runs it over other files. Raises the errors of the sandbox, and
    `agents.errors.Stopped`."""
    read: Callable[[Sequence[ChangedFile]], Awaitable[ChangedCode]]
    """Parses the code of changed files."""
    returns_files: bool = True
    """Whether the result of `run` has the files that the run wrote."""

    @property
    def changes_code(self) -> bool:
        """Whether the job changed the files `to_exercise`. If it changed only tests, they are the
        other source files of the workspace."""
        return {file.path for file in self.changed}.issuperset(self.to_exercise)


@dataclass(slots=True)
class Experiments:
    """Makes the experiments on a verification."""

    subject: Subject
    results: Results = field(init=False)
    seconds: float = 0.0
    """The duration of the experiments so far."""

    def __post_init__(self) -> None:
        self.results = Results(self.subject.command, self.subject.to_exercise)

    async def make(self) -> Results:
        """Make all experiments. If the experiments on files show that the verification is no
        evidence, the experiments on the code are not made."""
        await self._change_files()
        if self.results.problem() is None and self.subject.changes_code:
            await self._change_code()
        return self.results

    async def _change_files(self) -> None:
        subject, paths = self.subject, self.subject.to_exercise
        one_by_one = paths[:MOST_ONE_BY_ONE]
        tries_each_file = subject.changes_code and len(one_by_one) == len(paths)
        # If not every file is tried by itself, one experiment tries all of them together. It comes
        # first, because there may be no time for another experiment.
        together = bool(paths) and not (tries_each_file and self._fits(one_by_one))
        if together:
            await self._make_unloadable(paths)
        if subject.to_revert:
            await self._revert()
        if subject.changes_code and not (together and len(paths) == 1):
            for path in one_by_one:
                await self._make_unloadable([path])

    def _fits(self, one_by_one: Sequence[str]) -> bool:
        """Whether there is time for an experiment on each file, and for the state before."""
        runs = len(one_by_one) + bool(self.subject.to_revert)
        return runs * self.subject.seconds * _EXPECTED_FACTOR <= self._total_seconds

    @property
    def _total_seconds(self) -> float:
        """The seconds that all experiments together may take."""
        return max(SECONDS, 2 * self.subject.seconds)

    async def _revert(self) -> None:
        changed = self.subject.to_revert
        tree = reverted(self.subject.tree, changed)
        run = await self._record("before", [file.path for file in changed], tree)
        self.results.no_time_to_revert = run is None

    async def _make_unloadable(self, paths: Sequence[str]) -> None:
        tree, results = self.subject.tree, self.results
        files = {
            path: unloadable(path, content) if path in paths else content
            for path, content in tree.files.items()
        }
        run = await self._record("unloadable", paths, replace(tree, files=files))
        if run is None:
            results.untried += [path for path in paths if path not in results.untried]
        elif run.passed:
            results.written |= run.result.changed.keys() & set(paths)

    async def _record(
        self, kind: ExperimentKind, paths: Sequence[str], tree: Tree
    ) -> ExperimentRun | None:
        """Run the verification over `tree`, and record the experiment; None if no time is left."""
        run = await self._run(tree)
        if run is not None:
            record = experiment(kind, list(paths), green=run.passed, result=run.result)
            self.results.experiments.append({**record, "undecided": run.cut})
        return run

    async def _change_code(self) -> None:
        """Measure which changed functions run, and try mutations of the code."""
        exercised = set(self.results.exercised())
        files = [file for file in self.subject.changed if file.path in exercised]
        files = [file for file in files if not is_test(file.path)]
        code = await self.subject.read(files)
        self.results.with_code = code.with_code
        if code.functions:
            self.results.calls = await self._measure(code.functions)
        await self._mutate(code.mutations)
        if self.results.problem() is not None:
            self.results.strength = None  # the problem is more important than the figures
        await self._raise_errors()

    async def _raise_errors(self) -> None:
        """If no mutation was noticed, make each function that runs raise an error."""
        calls, strength = self.results.calls, self.results.strength
        if calls and calls.executed and strength and not strength["noticed"]:
            tree = self.subject.tree
            run = await self._run(replace(tree, files=raising(tree.files, calls.executed)))
            self.results.hides_errors = run is not None and run.passed

    async def _measure(self, functions: Sequence[Function]) -> Calls | None:
        """The changed functions that run; None if that is not known, because the run over changed
        functions did not pass."""
        tree, records = self.subject.tree, self.subject.returns_files
        change = recording if records else raising
        run = await self._run(replace(tree, files=change(tree.files, functions)))
        if run is None or not run.passed:
            return None
        if not records:
            return Calls([], functions)
        return calls_in(run.result.changed.get(CALLS, b""), functions)

    async def _mutate(self, mutations: Sequence[Mutation]) -> None:
        """Try the mutations in their order. A mutation of a function that does not run counts as
        unnoticed without a run."""
        strength = Strength(noticed=0, tried=0, untried=0, unnoticed=[])
        tree = self.subject.tree
        for number, mutation in enumerate(mutations):
            is_noticed = False
            if self._may_execute(mutation):
                content = mutation.apply(tree.files[mutation.path])
                files = {**tree.files, mutation.path: content}
                run = await self._run(replace(tree, files=files))
                if run is None:
                    strength["untried"] = len(mutations) - number
                    break
                if run.cut:  # the code may be endless now, so the mutation is not counted
                    continue
                is_noticed = not run.passed
            strength["tried"] += 1
            strength["noticed"] += is_noticed
            if not is_noticed:
                strength["unnoticed"].append(mutation.unnoticed())
        if strength["tried"]:
            strength["unnoticed"].sort(key=lambda mutation: (mutation["path"], mutation["line"]))
            self.results.strength = strength
        self.results.no_time_to_mutate = strength["untried"] > 0 and not strength["tried"]

    def _may_execute(self, mutation: Mutation) -> bool:
        """Whether the verification may execute the mutated line: the line is in no function that is
        known not to run."""
        calls = self.results.calls
        return calls is None or not any(
            function.path == mutation.path and function.line <= mutation.line <= function.end_line
            for function in calls.not_executed
        )

    async def _run(self, tree: Tree) -> ExperimentRun | None:
        """A run of the verification; None if no time is left for it."""
        subject, remaining = self.subject, self._total_seconds - self.seconds
        if remaining < subject.seconds:
            return None
        seconds = min(remaining, 2 * subject.seconds + _MARGIN_SECONDS)
        run = await subject.run(tree, replace(subject.limits, wall_seconds=seconds))
        self.seconds += run.result.seconds
        return run
