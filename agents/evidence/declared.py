"""The command that verifies the files of a job, or the run if the job has no programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agents.attempt import Ports
from agents.evidence.record import NOT_EXECUTABLE, Source, Verification, unverified
from agents.runs.program import VERIFY, Program
from agents.runs.record import EXECUTOR, whole_program
from agents.runs.sources import is_for_pytest
from agents.state import Run, State
from agents.texts import head_and_tail, one_line

NO_RUN: Final = "nothing has been run"
_NO_MAKER: Final = f"{NOT_EXECUTABLE}: documents only"
_NO_PROGRAM: Final = f"{NOT_EXECUTABLE}: the answer rests on no run"
ANSWER: Final = "the answer, compared with the files"
"""The text of a verification without a command."""
NO_RUN_SHOWS: Final = "The task only asks a question, and no run shows the answer."
COMMAND_SHOWN = 300
"""Characters of a command in a problem."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A command, and who declared it."""

    source: Source
    program: Program


async def find_declared(state: State, ports: Ports, files: Mapping[str, bytes]) -> Declared | None:
    """The command that verifies the files; None if no program has run."""
    if words := state["job"].get("verify"):
        return Declared("job", Program.verify(words))
    if (last := last_declaration(state)) is not None:
        return Declared("model", Program.again(VERIFY, await _text(last, ports)))
    if ports.repository is not None and ports.repository.verify:
        return Declared("default", Program.verify(ports.repository.verify))
    if any(map(is_for_pytest, files)):
        return Declared("default", Program.verify(["pytest"]))
    if not (runs := state.get("runs", [])):
        return None
    last = next((run for run in reversed(runs) if run["by"] == EXECUTOR), runs[-1])
    text = await _text(last, ports)
    return Declared("default", Program.again(last.get("tool", "python"), text))


def last_declaration(state: State) -> Run | None:
    """The last `verify` of the model."""
    not_declared = {
        record["run"] for record in state.get("verifications", ()) if record["source"] != "model"
    }
    runs = (run for run in reversed(state.get("runs", [])) if run.get("tool") == VERIFY)
    return next((run for run in runs if run["id"] not in not_declared), None)


def matching_run(runs: Sequence[Run], program: Program, ports: Ports) -> Run | None:
    """A run of this program over the current files that left them unchanged."""
    workspace = ports.workspace.digest
    text = head_and_tail(program.text, ports.bounds.inline_characters)
    same_tool = (run for run in reversed(runs) if run.get("tool") == program.tool)
    on_current_files = (
        run for run in same_tool if run.get("on", "") == run.get("workspace", "") == workspace
    )
    return next((run for run in on_current_files if run["code"]["text"] == text), None)


def by_program(state: State) -> Verification:
    """For a job without source files: the last run that made one of its files, or the last run of
    all if it leaves no files. Pure."""
    runs, artifacts = state.get("runs", []), state["artifacts"]
    if not runs and not artifacts:
        return unverified(state, _NO_PROGRAM)
    successful = [run for run in runs if run["succeeded"]]
    makers = (
        [run for run in successful if _made_an_artifact(run, artifacts)]
        if artifacts
        else successful
    )
    if artifacts and not makers:
        return unverified(state, _NO_MAKER)
    last = runs[-1]
    decisive = makers[-1] if last["succeeded"] else last
    failed = f"{last['id']} failed, and nothing has been run since: {cause(last)}"
    verification = unverified(state, None if last["succeeded"] else failed)
    checked = last is not decisive and last.get("tool") == VERIFY
    return {
        **verification,
        "source": "program",
        "run": decisive["id"],
        "command": short_text(decisive),
        "own_word": last["succeeded"] and not checked,
        "judged_by": "exit_code",
    }


def by_answer(state: State, *, has_files: bool) -> Verification:
    """For a job that only asks a question and has changed no file: its last program, or otherwise
    its files, with which the critic compares the answer. Pure."""
    by_run = by_program(state)
    if by_run["holds"] or not has_files:
        return by_run
    return {
        **unverified(state, None),
        "source": "answer",
        "command": ANSWER,
        "notes": [NO_RUN_SHOWS],
    }


def why_no_evidence(run: Run, state: State) -> str | None:
    """The reason why the run of a verification is not evidence in itself, or None."""
    last = state["runs"][-1] if state.get("runs") else run
    if last["by"] != EXECUTOR and not last["succeeded"]:  # a person reviews their own edit
        return f"the code of {last['by']} did not succeed ({last['id']})"
    if run["succeeded"]:
        return None
    return f"the verification `{short_text(run)}` failed: {cause(run)}{_hint_on_files(run, state)}"


def _hint_on_files(run: Run, state: State) -> str:
    """A hint on the files that an earlier successful run of the same command left."""
    same_code = (earlier for earlier in state.get("runs", []) if earlier["code"] == run["code"])
    passed = next(
        (earlier for earlier in same_code if earlier["succeeded"] and earlier["artifacts"]), None
    )
    if passed is None:
        return ""
    names = ", ".join(artifact["name"] for artifact in passed["artifacts"])
    return f" (it passed as {passed['id']}, which left {names}: it has to pass again with them)"


def short_text(run: Run) -> str:
    """A run's text on one line."""
    return one_line(run["code"]["text"], COMMAND_SHOWN)


def cause(run: Run) -> str:
    """The cause of a failed run, in one line."""
    return str((run.get("failure") or {}).get("cause") or run["end"])


def _made_an_artifact(run: Run, artifacts: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the run made one of the current files."""
    return any(
        artifacts.get(artifact["name"], {}).get("digest") == artifact["digest"]
        for artifact in run["artifacts"]
    )


async def _text(run: Run, ports: Ports) -> str:
    return (await whole_program(run, ports)).decode(errors="replace")
