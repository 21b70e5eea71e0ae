"""The verification: after each pass of the executor and each edit by a person."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime

from agents.attempt import Ports
from agents.calls.call_key import call_key, digest
from agents.calls.journal import finished_call, journaled
from agents.checks.check_reports import checks_of, report_data
from agents.checks.judge import judge
from agents.evidence.verification import verify_files
from agents.ports import Event, Finished
from agents.state import State


async def verification(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """Run the acceptance checks, if the job has any, and verify the files."""
    ports = runtime.context
    change: dict[str, Any] = {}
    if state["job"].get("checks") or state.get("tests"):
        checked = await _checked(state, runtime)
        change = {"checked": checked, "reports": [checked]}
    at = call_key(runtime.execution_info)
    known: Any = {**state, **change}
    found, runs = await verify_files(known, ports, at)
    await ports.events.emit(Event(at, "verified", found))
    return {**change, "verifications": [found], "runs": runs}


async def _checked(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """Run all checks once; journaled like a tool call, so a crash does not repeat it."""
    ports = runtime.context
    at = call_key(runtime.execution_info)
    carried = checks_of(state, ports)

    async def make() -> tuple[ToolMessage, Finished]:
        tree = await ports.workspace.tree()
        report = await judge(ports.sandbox, tree.files, carried, ports.limits, tree.links)
        checked = {"revision": state["revision"], **await report_data(report, ports)}
        message = ToolMessage("", tool_call_id="checks", artifact=checked)
        return message, finished_call(message, events=(Event(at, "checked", checked),))

    key = at.key(digest("checks", ports.workspace.digest, carried.command, dict(carried.files)))
    checked: dict[str, Any] = (await journaled(ports, key, make)).artifact
    return checked
