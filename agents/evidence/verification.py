"""The verification: the run that a verdict rests on, and the experiments that show how much
it notices.

The command is the job's own; or the one that the model declared last with `verify`; or pytest if
there are tests; or else the last program. It runs over exactly the files that are delivered, unless
it has already. Passed acceptance checks count as a verification, too. A job without source files
rests on the last program that made its files, or on its last program if it has no files. A job that
only asks a question can rest on its files.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain_core.messages import ToolMessage

from agents.attempt import Ports
from agents.calls.call_key import digest
from agents.calls.journal import finished_call, journaled
from agents.checks.judge import judge_work
from agents.checks.reports import checks_of, report_of, unpassed_checks
from agents.evidence.changed_code import CodeReader
from agents.evidence.changes import ChangedFile, changed_files, code_under_test
from agents.evidence.conclusions import notes_on_tests
from agents.evidence.declared import (
    NO_RUN,
    Declared,
    by_answer,
    by_program,
    find_declared,
    matching_run,
    short_text,
    why_no_evidence,
)
from agents.evidence.exercised_files import (
    changed_sources,
    files_to_exercise,
    files_to_revert,
    is_its_own_check,
)
from agents.evidence.experiments import (
    ExperimentRun,
    Experiments,
    Subject,
)
from agents.evidence.record import MARKERS_LEFT, JudgedBy, Verification, unverified
from agents.ports import CallKey, Event, Finished
from agents.repair.feedback import failed_verifications, repaired
from agents.runs.program import Program, ProgramResult, execute
from agents.runs.record import EXECUTOR, last_number, recorded, run_id
from agents.runs.sources import sources_in
from agents.state import Run, State
from agents.texts import listed
from agents.tools.trace import of_run
from agents.tree import Tree
from sandbox.protocol import Limits, Stream

CHECKS = "the acceptance checks"
_MARKER = re.compile(rb"^(?:<{7,} repository|>{7,} approved-change)(?::.*)?\r?$", re.MULTILINE)
"""A line that `worker.repositories.merges` leaves in a file with a conflict."""


async def verify_files(state: State, ports: Ports, at: CallKey) -> tuple[Verification, list[Run]]:
    """The verification of the current files, and the run that was made for it; None if no run was
    necessary. Runs are journaled like tool calls. Raises the errors of the sandbox.
    """
    tree, changed = await ports.workspace.tree(), await changed_files(state, ports.workspace)
    if rebased := state["job"].get("rebased"):
        paths = _paths_with_markers(tree.files) if rebased["conflicts"] else []
        if paths:
            return unverified(state, f"{MARKERS_LEFT}: {listed(paths)}"), []
    work = _Work(state, ports, at, tree, changed)
    report = report_of(state)
    if report is not None and not (report["passed"] and state["job"].get("verify")):
        by_checks = await work.by_checks(report)
        if by_checks["holds"] or not report["passed"]:
            return by_checks, []
    if state.get("only_answer") and not changed and not state["job"].get("verify"):
        has_files = bool(state["job"]["files"]) or ports.repository is not None
        return by_answer(state, has_files=has_files), []
    sources = changed_sources(changed)
    declared = await find_declared(state, ports, tree.files)
    if declared is None or (not sources and declared.source == "default"):
        return (unverified(state, NO_RUN) if sources else by_program(state)), []
    verification, runs = await work.by_command(declared)
    if work.has_experiments or declared.source == "job" or not verification["holds"]:
        return verification, runs
    return by_program(state), runs


def _paths_with_markers(files: Mapping[str, bytes]) -> list[str]:
    """The changed files with a conflict of the merge that the job began with."""
    return [path for path, content in files.items() if _MARKER.search(content)]


@dataclass(frozen=True, slots=True)
class _Work:
    """The files of the workspace, and which of them the job has `changed`."""

    state: State
    ports: Ports
    at: CallKey
    tree: Tree
    changed: Sequence[ChangedFile]

    @property
    def has_experiments(self) -> bool:
        """Whether the job has changed source files, or files that it began with."""
        edited = any(file.before is not None for file in self.changed)
        return edited or bool(changed_sources(self.changed))

    async def by_checks(self, report: Mapping[str, Any]) -> Verification:
        """By the acceptance checks. `report` is their report on these files."""
        judged_by: JudgedBy = "exit_code" if report["judged_by"] == "exit_code" else "report"
        verification: Verification = {
            **unverified(self.state, unpassed_checks(self.state)),
            "source": "checks",
            "command": CHECKS,
            "judged_by": judged_by,
        }
        ports, checks = self.ports, checks_of(self.state, self.ports)

        async def run(tree: Tree, limits: Limits) -> ExperimentRun:
            await ports.cancel.check()
            outcome = await judge_work(ports, checks, tree, limits)
            passed = sum(test.outcome == "passed" for test in outcome.tests)
            text = outcome.problem or f"{passed} of {len(outcome.tests)} passed"
            return ExperimentRun.of(
                replace(outcome.result, stdout=Stream(text)), passed=outcome.passed
            )

        return await self._with_experiments(verification, "", report["seconds"], run)

    async def by_command(self, declared: Declared) -> tuple[Verification, list[Run]]:
        """By a command, which runs unless it has run on these files."""
        program = declared.program
        run = matching_run(self.state.get("runs", []), program, self.ports)
        new_runs = [] if run is not None else [await self._run(program)]
        run = run or new_runs[0]
        judged_by: JudgedBy = "report" if run.get("tests") else "exit_code"
        verification: Verification = {
            **unverified(self.state, why_no_evidence(run, self.state)),
            "source": declared.source,
            "command": short_text(run),
            "run": run["id"],
            "judged_by": judged_by,
        }

        async def again(tree: Tree, limits: Limits) -> ExperimentRun:
            await self.ports.cancel.check()
            outcome = await execute(replace(self.ports, limits=limits), program, tree)
            return ExperimentRun.of(outcome.result, passed=outcome.passed)

        text, seconds = program.text, run["seconds"]
        return await self._with_experiments(verification, text, seconds, again), new_runs

    async def _run(self, program: Program) -> Run:
        """A run over the files that leaves them unchanged."""
        state, ports = self.state, self.ports
        number, level = last_number(state.get("runs", [])) + 1, state.get("level", 0)

        async def make() -> tuple[ToolMessage, Finished]:
            outcome = await execute(ports, program, self.tree, run_id(number))
            unkept = replace(outcome.result, changed={}, deleted=frozenset(), refused=())
            outcome = ProgramResult(unkept, outcome.problem, outcome.report)
            revision = state["revision"]
            recorded_run = await recorded(ports, program, outcome, number, revision, EXECUTOR)
            run = recorded_run.run
            events = [Event(self.at, "run_finished", run)]
            failures = failed_verifications(state.get("runs", []))
            model = ports.models.name(EXECUTOR, level)
            data = await repaired(run, failures, model, level, ports) if run["succeeded"] else None
            if data is not None:
                events.append(Event(self.at, "repaired", data))
            message = ToolMessage("", tool_call_id=run["id"], artifact=of_run(recorded_run))
            return message, finished_call(message, events=events)

        key = digest("verification", ports.workspace.digest, program.tool, program.text)
        run: Run = (await journaled(ports, self.at.key(key), make)).artifact["data"]
        return run

    async def _with_experiments(
        self,
        verification: Verification,
        text: str,
        seconds: float,
        run: Callable[[Tree, Limits], Awaitable[ExperimentRun]],
    ) -> Verification:
        """The verification, with the experiments on it. `text` is the text of its program."""
        if not verification["holds"] or not self.has_experiments:
            return verification

        subject = await self._subject(verification, text, seconds, run)
        chosen_by_agent = verification["source"] in {"model", "default"}
        by_exit_code = verification["judged_by"] == "exit_code"
        own_word = chosen_by_agent and by_exit_code and is_its_own_check(self.changed, text)
        keeps_behaviour = self.state.get("keeps_behaviour", False)
        test_notes = notes_on_tests(self.changed)

        async def make() -> tuple[ToolMessage, Finished]:
            results = await Experiments(subject).make()
            problem = results.problem()
            notes = [*test_notes, *results.notes(same_behaviour=keeps_behaviour)]
            outcome = {
                "experiments": results.experiments,
                "problem": problem,
                "holds": problem is None,
                "notes": [] if problem else notes,
                "functions": results.calls.record() if results.calls else None,
                "strength": results.strength,
                "own_word": own_word and problem is None and not results.distinguishes(),
            }
            message = ToolMessage("", tool_call_id="experiment", artifact=outcome)
            return message, finished_call(message)

        key = digest("experiments", self.ports.workspace.digest, verification["command"])
        outcome = (await journaled(self.ports, self.at.key(key), make)).artifact
        return cast("Verification", {**verification, **outcome})

    async def _subject(
        self,
        verification: Verification,
        text: str,
        seconds: float,
        run: Callable[[Tree, Limits], Awaitable[ExperimentRun]],
    ) -> Subject:
        job, ports = self.state["job"], self.ports
        tree = self.tree.over(await code_under_test(self.changed, ports.workspace))
        sources = sources_in(tree.files, tree.files)
        has_start = job.get("start") is not None or ports.repository is not None
        return Subject(
            command=str(verification["command"]),
            tree=tree,
            changed=self.changed,
            seconds=seconds,
            limits=ports.limits,
            to_exercise=files_to_exercise(self.changed, sources, text),
            to_revert=files_to_revert(self.changed, text) if has_start else (),
            run=run,
            read=CodeReader(ports, ports.bounds.mutations).read,
            returns_files=verification["source"] != "checks",
        )
