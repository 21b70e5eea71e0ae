"""The verification: the run that a verdict rests on, and the experiments that show that it can
fail.

The command is the job's own; or the one that the model declared last with `verify`; or pytest if
there are tests; or else the last program. It runs over exactly the files that are delivered, unless
it has already. Passed acceptance checks count as a verification, too. A job without source files
rests on the last program that made its files, or on its last program if it has no files.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from langchain_core.messages import ToolMessage

from agents.calls.call_key import digest
from agents.calls.journal import finished_call, journaled
from agents.checks.check_reports import checks_of, report_of, unpassed_checks
from agents.checks.judge import judge
from agents.evidence.declared import (
    NO_RUN,
    Declared,
    by_program,
    declared_in,
    matching_run,
    short,
    why_no_evidence,
)
from agents.evidence.experiment import groups, not_exercised, replaced
from agents.evidence.record import Experiment, Verification, experiment, unverified
from agents.evidence.sources import sources_in
from agents.failures.feedback import failed_verifications, repaired
from agents.graph.state import Run, State
from agents.layout.editable import METADATA
from agents.ports import CallKey, Event, Finished, Ports
from agents.runs.program import Program, ProgramResult, execute
from agents.runs.record import EXECUTOR, last_number, recorded
from agents.tools.trace import of_run
from agents.tree import Tree
from sandbox.protocol import RunResult, Stream

CHECKS = "the acceptance checks"

Without = Callable[[Sequence[str]], Awaitable[tuple[bool, RunResult]]]
"""Runs a verification with some files replaced; returns whether it passes, and the run."""


async def verify_files(state: State, ports: Ports, at: CallKey) -> tuple[Verification, list[Run]]:
    """The verification of the current files, and the run that was made for it, if any.

    Runs are journaled like tool calls. Raises what the sandbox raises.
    """
    tree = await ports.workspace.tree()
    work = _Work(state, ports, at, tree, sources_in(tree.files, state["artifacts"]))
    report = report_of(state)
    if report is not None and not (report["passed"] and state["job"].get("verify")):
        by_checks = await work.by_checks()
        if by_checks["holds"] or not report["passed"]:
            return by_checks, []
    declared = await declared_in(state, ports, tree.files)
    if declared is None or (not work.sources and declared.source == "default"):
        return (unverified(state, NO_RUN) if work.sources else by_program(state)), []
    found, made = await work.by_command(declared)
    if work.sources or declared.source == "job" or not found["holds"]:
        return found, made
    return by_program(state), made


@dataclass(frozen=True, slots=True)
class _Work:
    """The files of the workspace, and which of them are the job's own `sources`."""

    state: State
    ports: Ports
    at: CallKey
    tree: Tree
    sources: Sequence[str]

    async def by_checks(self) -> Verification:
        """By the acceptance checks, whose report on these files exists."""
        found = unverified(self.state, unpassed_checks(self.state))
        found = {**found, "source": "checks", "command": CHECKS}
        carried, sandbox, limits = (
            checks_of(self.state, self.ports),
            self.ports.sandbox,
            self.ports.limits,
        )

        async def without(group: Sequence[str]) -> tuple[bool, RunResult]:
            # No test imports setup.py, which says where the modules are that tests import.
            broken = [path for path in group if path not in METADATA] or group
            files = replaced(self.tree.files, broken)
            report = await judge(sandbox, files, carried, limits, self.tree.links)
            passed = sum(test.outcome == "passed" for test in report.tests)
            text = report.problem or f"{passed} of {len(report.tests)} passed"
            return report.passed, replace(report.result, stdout=Stream(text))

        return await self._tried(found, self._groups(""), without)

    async def by_command(self, declared: Declared) -> tuple[Verification, list[Run]]:
        """By a command, which runs unless it has run on these files."""
        program = declared.program
        run = matching_run(self.state.get("runs", []), program, self.ports)
        made = [] if run is not None else [await self._run(program)]
        run = run or made[0]
        found = unverified(self.state, why_no_evidence(run, self.state))
        found = {**found, "source": declared.source, "command": short(run), "run": run["id"]}

        async def without(group: Sequence[str]) -> tuple[bool, RunResult]:
            seen = await execute(self.ports, program, self._without(group))
            return seen.passed, seen.result

        return await self._tried(found, self._groups(program.text), without), made

    def _without(self, group: Sequence[str]) -> Tree:
        return replace(self.tree, files=replaced(self.tree.files, group))

    def _groups(self, command: str) -> list[list[str]]:
        return groups(self.sources, sources_in(self.tree.files, self.tree.files), command)

    async def _run(self, program: Program) -> Run:
        """A run over the files that leaves them unchanged."""
        state, ports = self.state, self.ports
        number, level = last_number(state.get("runs", [])) + 1, state.get("level", 0)

        async def make() -> tuple[ToolMessage, Finished]:
            seen = await execute(ports, program, self.tree)
            unkept = replace(seen.result, changed={}, deleted=frozenset(), refused=())
            seen = ProgramResult(unkept, seen.problem, seen.report)
            ran = await recorded(ports, program, seen, number, state["revision"], EXECUTOR)
            events = [Event(self.at, "run_finished", ran.run)]
            reds, model = (
                failed_verifications(state.get("runs", [])),
                ports.models.name(EXECUTOR, level),
            )
            if ran.run["succeeded"] and (
                data := await repaired(ran.run, reds, model, level, ports)
            ):
                events.append(Event(self.at, "repaired", data))
            message = ToolMessage("", tool_call_id=ran.run["id"], artifact=of_run(ran))
            return message, finished_call(message, events=events)

        key = digest("verification", ports.workspace.digest, program.tool, program.text)
        run: Run = (await journaled(ports, self.at.key(key), make)).artifact["data"]
        return run

    async def _tried(
        self, found: Verification, tried: Sequence[Sequence[str]], without: Without
    ) -> Verification:
        """The verification, with the experiments on it up to the first that still passes."""
        if not found["holds"] or not self.sources:
            return found

        async def make() -> tuple[ToolMessage, Finished]:
            experiments, problem = await _experiments(str(found["command"]), tried, without)
            outcome = {"experiments": experiments, "problem": problem, "holds": problem is None}
            message = ToolMessage("", tool_call_id="experiment", artifact=outcome)
            return message, finished_call(message)

        key = digest(
            "experiment", self.ports.workspace.digest, found["command"], [*map(list, tried)]
        )
        outcome = (await journaled(self.ports, self.at.key(key), make)).artifact
        return cast("Verification", {**found, **outcome})


async def _experiments(
    command: str, tried: Sequence[Sequence[str]], without: Without
) -> tuple[list[Experiment], str | None]:
    """The experiments, and why they show that the command is no evidence, or None."""
    made: list[Experiment] = []
    for group in tried:
        green, result = await without(group)
        made.append(experiment("unloadable", list(group), green=green, result=result))
        if green:
            written = sorted(result.changed.keys() & set(group))
            return made, _writes(command, written) if written else not_exercised(command, group)
    return made, None


def _writes(command: str, written: Sequence[str]) -> str:
    return (
        f"the verification `{command}` writes {', '.join(written)} itself, so it shows nothing"
        " about the files that are delivered: verify them with another command"
    )
