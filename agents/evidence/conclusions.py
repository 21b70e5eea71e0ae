"""What experiments show of a verification: why it is no evidence, and facts that weaken it. Pure.

It is no evidence if it passes although the files that it has to exercise cannot load, if it
executes no function that the job wrote or changed, or if it passes although these functions raise
errors. All other facts are notes, which leave the judgement to the critic and to people.

See ADR 79.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from agents.evidence.changed_code import Calls
from agents.evidence.changes import ChangedFile
from agents.evidence.record import Experiment, ExperimentKind, Strength
from agents.runs.sources import is_source, is_test
from agents.texts import listed

PASSES_BEFORE = "The verification passes without the change, too."
_HOOK = re.compile(rb"^[ \t]*def pytest_\w", re.MULTILINE)
_DEFINITION = re.compile(rb"\s*(?:async\s+def|def|class)\b")
_DECORATOR = re.compile(rb"\s*@")
_STATEMENT = re.compile(rb"[^\s)\]}]")


@dataclass(slots=True)
class Results:
    """The results of the experiments on a verification."""

    command: str
    """The command of the verification, in the form for people."""
    to_exercise: Sequence[str]
    """The files that it has to exercise, as `exercised_files.files_to_exercise` lists them."""
    experiments: list[Experiment] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    """Files that could not load, and that the verification wrote itself."""
    untried: list[str] = field(default_factory=list)
    """Files for which no time was left."""
    calls: Calls | None = None
    """None: not measured."""
    with_code: Collection[str] = ()
    """Python files in which the job changed statements outside functions."""
    strength: Strength | None = None
    hides_errors: bool = False
    """It passes although each changed function that it executes raises an error."""
    no_time_to_revert: bool = False
    no_time_to_mutate: bool = False

    def problem(self) -> str | None:
        """Why the verification is no evidence, or None."""
        if self._exercises_nothing():
            return self._no_file()
        if self.calls is not None and self._executes_nothing(self.calls):
            names = listed([function.full_name for function in self.calls.not_executed])
            return (
                f"the verification `{self.command}` executes none of the functions that the job"
                f" wrote or changed ({names}): verify a command that calls them, such as tests"
            )
        if self.hides_errors and self.calls is not None:
            names = listed([function.full_name for function in self.calls.executed])
            return (
                f"the verification `{self.command}` still passes when the functions that it"
                f" executes ({names}) raise an error: verify a command that fails if they fail"
            )
        return None

    def notes(self, *, same_behaviour: bool = False) -> Iterator[str]:
        """Facts that weaken the evidence, one sentence each. `same_behaviour`: the job is to change
        no behaviour."""
        if not same_behaviour and any(
            experiment["still_green"] for experiment in self._of_kind("before")
        ):
            yield PASSES_BEFORE
        passed = [
            experiment["replaced"]
            for experiment in self._of_kind("unloadable")
            if experiment["still_green"]
        ]
        if unnoticed := [paths[0] for paths in passed if len(paths) == 1]:
            subject = "the file" if len(unnoticed) == 1 else "each of them"
            yield (
                f"The verification does not exercise {listed(unnoticed)}: it passes although"
                f" {subject} cannot be loaded."
            )
        yield from self._unknown()

    def _unknown(self) -> Iterator[str]:
        """Experiments that show nothing, and those for which no time was left."""
        for experiment in self.experiments:
            if experiment["undecided"]:
                reverted = experiment["kind"] == "before"
                state = "as before the job" if reverted else "unable to load"
                files = listed(experiment["replaced"])
                yield f"With {files} {state}, a limit ended the run, so it shows nothing."
        if self.no_time_to_revert:
            yield "No time was left to try the state before the job."
        if self.untried:
            yield f"No time was left to try {listed(self.untried)} unable to load."
        if self.no_time_to_mutate:
            yield "No time was left to try small changes of the code."

    def distinguishes(self) -> bool:
        """Whether the verification fails over other code that runs: without the change, or with a
        mutation."""
        before = self._of_kind("before")
        failed = any(not (run["still_green"] or run["undecided"]) for run in before)
        return failed or self.notices_a_mutation()

    def notices_a_mutation(self) -> bool:
        """Whether the verification fails over at least one mutation."""
        return self.strength is not None and self.strength["noticed"] > 0

    def exercised(self) -> list[str]:
        """The files that the verification may exercise. It does not exercise a file if it passes
        although the file cannot load."""
        passed = (
            experiment["replaced"]
            for experiment in self._of_kind("unloadable")
            if experiment["still_green"]
        )
        not_exercised = {path for paths in passed for path in paths}
        return [path for path in self.to_exercise if path not in not_exercised]

    def _exercises_nothing(self) -> bool:
        """Whether the verification exercises none of the files. A failed experiment shows that it
        exercises one of them, and an undecided experiment shows nothing."""
        return bool(self.to_exercise) and not self.exercised()

    def _executes_nothing(self, calls: Calls) -> bool:
        """Whether the verification executes no changed function, and exercises nothing else that
        changed: no statements of a file without changed functions, no file of another language, and
        no statements, such as constants, of which it notices a mutation."""
        if calls.executed or not calls.not_executed or self.notices_a_mutation():
            return False
        with_functions = {function.path for function in calls.not_executed}
        paths = set(self.exercised()) - with_functions
        return not any(path in self.with_code or not path.endswith(".py") for path in paths)

    def _no_file(self) -> str:
        files = listed(self.to_exercise)
        if self.written:
            return (
                f"the verification `{self.command}` writes {listed(sorted(self.written))} itself,"
                " so it shows nothing about the files that are delivered: verify them with another"
                " command"
            )
        works = "it works" if len(self.to_exercise) == 1 else "they work"
        return (
            f"the verification `{self.command}` still passes when {files} cannot be loaded, so it"
            f" does not show that {works}: verify a command that runs the work, such as tests that"
            " import it"
        )

    def _of_kind(self, kind: ExperimentKind) -> list[Experiment]:
        return [experiment for experiment in self.experiments if experiment["kind"] == kind]


def notes_on_tests(changed: Sequence[ChangedFile]) -> list[str]:
    """Changes that can weaken tests, one sentence each: of tests that are older than the job, and
    of pytest's hooks, which can turn the failure of each test into a success."""
    existing = [file for file in changed if file.before is not None and is_test(file.path)]
    existing = [file for file in existing if is_source(file.path, file.before or b"")]
    edited = [file for file in existing if file.after is not None and not _only_adds_tests(file)]
    hooks = [f.path for f in changed if f.path.endswith(".py") and _HOOK.search(f.after or b"")]
    notes = (
        ("changed existing tests", [file.path for file in edited]),
        ("deleted existing tests", [file.path for file in existing if file.after is None]),
        ("added or changed a file with pytest hooks", hooks),
    )
    return [f"The job {text}: {listed(paths)}." for text, paths in notes if paths]


def _only_adds_tests(file: ChangedFile) -> bool:
    """Whether the file keeps each test and each other statement unchanged, with its decorators, and
    adds no mark for all tests of the file. Only known of Python."""
    if not file.path.endswith(".py"):
        return False
    before, after = Counter(_blocks(file.before or b"")), Counter(_blocks(file.after or b""))
    return not before - after and not any(b[0].startswith(b"pytestmark") for b in after - before)


def _blocks(content: bytes) -> list[tuple[bytes, ...]]:
    """The lines of each definition with its decorators, and of each other statement at the top
    level, without blank lines. A nested definition begins a block of its own."""
    blocks: list[list[bytes]] = []
    decorated = False
    for line in content.splitlines():
        if not line.strip():
            continue
        starts = _DEFINITION.match(line) or _DECORATOR.match(line)
        if blocks and (decorated or not (starts or _STATEMENT.match(line))):
            blocks[-1].append(line.rstrip())
        else:
            blocks.append([line.rstrip()])
        if starts:
            decorated = _DECORATOR.match(line) is not None
    return [tuple(block) for block in blocks]
