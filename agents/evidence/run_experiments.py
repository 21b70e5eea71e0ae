"""Runs the experiments on a verification, within their time.

Together they take at most twice the verification's own time, but SECONDS in any case. An experiment
that no longer fits is not made, and a note says so. An experiment that a limit ended shows nothing.

Why: docs/decisions/0079-experiments-that-discriminate.md
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from agents.evidence.changes import ChangedFile, reverted
from agents.evidence.experiment import MOST_ALONE, replaced
from agents.evidence.record import Experiment, ExperimentKind, experiment
from agents.tree import Tree
from sandbox.protocol import End, Limits, RunResult

SECONDS = 20.0
"""The time of all experiments on a fast verification."""
_MARGIN_SECONDS = 2.0
"""An experiment has twice the verification's time, and so much more."""
_SPARE = 1.2
"""How much longer a run may take than the verification did."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of the verification: whether it passed, and whether a limit ended it."""

    passed: bool
    result: RunResult
    cut: bool = False

    @classmethod
    def of(cls, result: RunResult, *, passed: bool) -> Attempt:
        """A run of a command."""
        by_itself = result.end in {End.EXITED, End.SIGNALED}
        return cls(passed, result, cut=not passed and not by_itself)


@dataclass(frozen=True, slots=True)
class Subject:
    """A verification that passed, and that experiments are made on."""

    command: str
    """As people read it."""
    tree: Tree
    seconds: float
    """How long it took."""
    limits: Limits
    alone: Sequence[str]
    """The files that it has to exercise (`experiment.tried_alone`)."""
    together: bool
    """They are no change of the job's, and are tried together only."""
    to_revert: Sequence[ChangedFile]
    """Empty: there is no state before the job."""
    run: Callable[[Tree, Limits], Awaitable[Attempt]]
    """Runs it over other files. Raises what the sandbox raises, and `agents.errors.Stopped`."""


@dataclass(slots=True)
class Experiments:
    """The experiments that were made on `subject`, in their order."""

    subject: Subject
    made: list[Experiment] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    """Files that could not load and that the verification wrote itself."""
    untried: list[str] = field(default_factory=list)
    """The files for which no time was left."""
    seconds: float = 0.0

    async def make(self) -> None:
        """Make all of them."""
        subject, alone = self.subject, self.subject.alone[:MOST_ALONE]
        decisive = subject.together or len(alone) < len(subject.alone) or not self._fits(alone)
        if decisive and alone:  # first, because there may be no time for another experiment
            await self._break(subject.alone)
        if subject.to_revert:
            await self._revert()
        if not subject.together and not (decisive and len(subject.alone) == 1):
            for path in alone:
                await self._break([path])

    def _fits(self, alone: Sequence[str]) -> bool:
        runs = len(alone) + bool(self.subject.to_revert)
        return runs * self.subject.seconds * _SPARE <= self._most

    @property
    def _most(self) -> float:
        return max(SECONDS, 2 * self.subject.seconds)

    async def _revert(self) -> None:
        changed = self.subject.to_revert
        tree = reverted(self.subject.tree, changed)
        await self._try("before", [file.path for file in changed], tree)

    async def _break(self, paths: Sequence[str]) -> None:
        tree = self.subject.tree
        broken = replace(tree, files=replaced(tree.files, paths))
        attempt = await self._try("unloadable", paths, broken)
        if attempt is None:
            self.untried += [path for path in paths if path not in self.untried]
        elif attempt.passed:
            self.written |= attempt.result.changed.keys() & set(paths)

    async def _try(self, kind: ExperimentKind, paths: Sequence[str], tree: Tree) -> Attempt | None:
        """Run the verification over `tree`; None if no time is left for it."""
        attempt = await self._run(tree)
        if attempt is not None:
            made = experiment(kind, list(paths), green=attempt.passed, result=attempt.result)
            self.made.append({**made, "undecided": attempt.cut})
        return attempt

    async def _run(self, tree: Tree) -> Attempt | None:
        subject, left = self.subject, self._most - self.seconds
        if left < subject.seconds:
            return None
        most = min(left, 2 * subject.seconds + _MARGIN_SECONDS)
        attempt = await subject.run(tree, replace(subject.limits, wall_seconds=most))
        self.seconds += attempt.result.seconds
        return attempt
