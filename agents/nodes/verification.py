"""The verification: after each pass of the executor and each edit by a person."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime

from agents.attempt import Ports
from agents.calls.call_key import call_key, digest
from agents.calls.journal import finished_call, journaled
from agents.checks.judge import judge_work
from agents.checks.reports import checks_of, report_data
from agents.evidence.verification import verify_files
from agents.ports import CallKey, Event, Finished
from agents.state import State


async def verification(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """Run the acceptance checks, if the job has any, and verify the files."""
    ports = runtime.context
    at = call_key(runtime.execution_info)
    update: dict[str, Any] = {}
    if state["job"].get("checks") or state.get("tests"):
        report = await _run_checks(state, ports, at)
        update = {"checked": report, "reports": [report]}
        state = {**state, "checked": report}
    elif state.get("checked"):  # a person has removed the tests
        update = {"checked": None}
        state = {**state, "checked": None}
    record, runs = await verify_files(state, ports, at)
    await ports.events.emit(Event(at, "verified", record))
    return {**update, "verifications": [record], "runs": runs}


async def _run_checks(state: State, ports: Ports, at: CallKey) -> dict[str, Any]:
    """Run all checks once. The report is journaled like a tool call, so a crash does not repeat
    them."""
    checks = checks_of(state, ports)

    async def run_once() -> tuple[ToolMessage, Finished]:
        tree = await ports.workspace.tree()
        report = await judge_work(ports, checks, tree)
        data = {"revision": state["revision"], **await report_data(report, ports)}
        message = ToolMessage("", tool_call_id="checks", artifact=data)
        return message, finished_call(message, events=(Event(at, "checked", data),))

    key = at.key(digest("checks", ports.workspace.digest, checks.command, dict(checks.files)))
    data: dict[str, Any] = (await journaled(ports, key, run_once)).artifact
    return data
