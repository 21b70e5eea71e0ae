"""The checks: judged over a copy of the workspace after each revision, and nothing else."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime

from agents.calls import finished, once
from agents.checks.carried import carried_by
from agents.checks.judge import judge
from agents.checks.telling import told
from agents.place import digest, place
from agents.ports import Fact, Finished, Ports
from agents.state import State


async def checks(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """One run of all checks, journaled like a tool call: a crash behind it does not repeat it."""
    ports = runtime.context
    at = place(runtime.execution_info)
    carried = carried_by(state, ports)

    async def make() -> tuple[ToolMessage, Finished]:
        files = await ports.workspace.files()
        report = await judge(ports.sandbox, files, carried, ports.limits)
        checked = {"revision": state["revision"], **await told(report, ports)}
        message = ToolMessage("", tool_call_id="checks", artifact=checked)
        return message, finished(message, facts=(Fact(at, "checked", checked),))

    key = at.key(digest("checks", ports.workspace.digest, carried.command, dict(carried.files)))
    checked = (await once(ports, key, make)).artifact
    return {"checked": checked, "reports": [checked]}
