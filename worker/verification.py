"""Verification: a job whose checks are judged over its workspace. No graph, no model.

Its one run has no effects, so after a crash it is simply repeated.
"""

from __future__ import annotations

from typing import Any

from agents.checks.checks import Checks
from agents.checks.judge import judge
from agents.checks.report_format import report_data, report_summary
from agents.ports import CallKey, Event, Ports

PLACE = CallKey("", "verification", 0)


async def verified(ports: Ports) -> dict[str, Any]:
    """The report, put on record as an event. Raises what the sandbox raises."""
    await ports.cancel.check()
    files = await ports.workspace.files()
    report = await judge(ports.sandbox, files, ports.checks or Checks(), ports.limits)
    checked = await report_data(report, ports)
    await ports.events.emit(Event(PLACE, "checked", {"revision": None, **checked}))
    return checked


def answer(checked: dict[str, Any]) -> str:
    """What the job answers."""
    return f"{report_summary(checked)}."
