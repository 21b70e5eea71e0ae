"""The last repair is always run: where files were written after a pass's last run, that program is
run once more, over the files as they stand. No model is asked; the answer is no evidence."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import ToolMessage
from langgraph.prebuilt import ToolRuntime

from agents.calls import finished, once
from agents.counting import counts, outdates_itself
from agents.history import this_pass
from agents.mending import behind, whole_program
from agents.middleware.tools import told_of
from agents.place import digest, of_reply, within
from agents.ports import Finished, Ports
from agents.repair.opened import can_prove, needs_cure, open_failures
from agents.repair.subject import only_looked
from agents.state import Run
from agents.tools.python import python
from agents.tools.registry import Body
from agents.tools.run_tests import run_tests
from agents.tools.shell import shell
from agents.tools.trace import Trace, repairs_in, runs_in, traces

CALL_ID: Final = "proof"
OFFSET = 900
"""Its place behind the pass's last reply: no tool call of a reply has this one."""
CHANGING: Final = frozenset({"edit_file", "install"})
"""Tools that may delete files, or lay what is no file of the job's."""


async def prove(state: Mapping[str, Any], ports: Ports) -> ToolMessage | None:
    """The run that shows what the pass's last changes do, as a tool's message; None where nothing
    was changed that is not shown yet. `state` is that of the pass, as it has ended."""
    run = unproven_run(state)
    if run is None:
        return None
    body, args = again(run, (await whole_program(run, ports)).decode())
    at = within(of_reply(state), 0, OFFSET)

    async def make() -> tuple[ToolMessage, Finished]:
        text, trace = await body(**args, runtime=_runtime(state, ports))
        message = ToolMessage(text, tool_call_id=CALL_ID, artifact=trace)
        facts = told_of(message, await behind(trace["data"], state, ports), at)
        return message, finished(message, facts=facts, workspace=ports.workspace.digest)

    return await once(ports, at.key(digest("proof", run["id"])), make)


def unproven_run(state: Mapping[str, Any]) -> Run | None:
    """The run that is to show what the changes behind it do: the open failure, where one is open;
    else the last run of the work. By what the calls have left and not by the workspace at hand:
    behind a crash that is already the one of later on."""
    found = traces(this_pass(state["messages"]))
    joins = bool(state.get("joins"))
    repairs = [*state.get("repairs", ()), *repairs_in(found)]
    opened = open_failures(runs_in(found), repairs, state.get("opened", ()))
    for failed in reversed(opened):
        later = _behind(failed, found)
        if can_prove(failed) and (any(map(_changes, later)) or (joins and later is found)):
            return failed
    known = {*state.get("known", ()), *(file["name"] for trace in found for file in trace["files"])}
    last = last_work(runs_in(found), known) or state.get("last_run")
    if last is None:
        return None
    later = _behind(last, found)
    changed = any(map(_changes, later)) or (joins and later is found)
    return last if changed or (later is not found and outdates_itself(last)) else None


def last_work(runs: Sequence[Run], known: Collection[str]) -> Run | None:
    """The last of these that shows something of the work where it is run again: one that failed, or
    is evidence of the files that are `known`, if there is any."""
    work = [
        run
        for run in runs
        if not only_looked(run) and (run["succeeded"] or (needs_cure(run) and can_prove(run)))
    ]
    told = (run for run in reversed(work) if not run["succeeded"] or counts(run, known))
    return next(told, work[-1] if work else None)


def _behind(run: Run, found: Sequence[Trace]) -> Sequence[Trace]:
    """What this pass has done behind a run: all of it, where that was made before."""
    ids = [trace["data"].get("id") for trace in found]
    return found[ids.index(run["id"]) + 1 :] if run["id"] in ids else found


def _changes(trace: Trace) -> bool:
    """Whether a call has changed files: not all that do leave files of theirs."""
    told = trace["data"]
    if trace["files"] or told.get("on") != told.get("workspace"):
        return True
    return bool(told.get("ok", False) and told.get("tool") in CHANGING)


def again(run: Run, program: str) -> tuple[Body, Mapping[str, Any]]:
    """The tool, and what it was given, that make a run of this program once more."""
    match run.get("tool", "python"):
        case "shell":
            return shell, {"command": program}
        case "run_tests":
            _, *words = shlex.split(program)
            keyword = words[1] if words[:1] == ["-k"] else ""
            return run_tests, {"paths": words[2:] if keyword else words, "keyword": keyword}
        case _:
            return python, {"code": program}


def _runtime(state: Mapping[str, Any], ports: Ports) -> ToolRuntime[Any, Any]:
    return ToolRuntime(
        state=state,
        context=ports,
        config={},
        stream_writer=lambda _: None,
        tool_call_id=CALL_ID,
        store=None,
    )
