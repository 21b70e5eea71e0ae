"""The edit: runs a person's code unchanged; no model is involved."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime

from agents.attempt import Ports
from agents.calls.call_key import call_key, digest
from agents.calls.journal import finished_call, journaled
from agents.history import runs_in, traces
from agents.paths import own_files
from agents.ports import Event, Finished
from agents.runs.program import Program
from agents.runs.record import last_number, run_and_keep, still_there
from agents.state import State
from agents.tools.trace import of_run


async def edit(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """Run the code of the latest decision, as part of the revision that the person reviewed."""
    ports = runtime.context
    decision = state["decisions"][-1]
    at = call_key(runtime.execution_info)
    number = last_number(state.get("runs", [])) + 1

    async def make() -> tuple[ToolMessage, Finished]:
        program = Program.python(decision["code"])
        ran, _ = await run_and_keep(ports, program, number, state["revision"], decision["by"])
        message = ToolMessage("", tool_call_id=ran.run["id"], artifact=of_run(ran))
        event = Event(at, "run_finished", ran.run)
        return message, finished_call(message, events=(event,), workspace=ports.workspace.digest)

    message = await journaled(ports, at.key(digest("edit", decision["code"])), make)
    found = traces([message])
    made = [file for trace in found for file in trace["files"]]
    artifacts = still_there(state["artifacts"], made, own_files(ports.workspace))
    left = {"workspace": ports.workspace.digest, "artifacts": artifacts}
    return {"runs": runs_in(found), "edits": [{"revision": state["revision"], **left}], **left}
