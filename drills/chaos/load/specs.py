"""What jobs of a chaos run ask for: on a deployment of our own, and on one that is named."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from cli.client.service import Service
from cli.errors import CliError, Refused
from drills.chaos.deployment.provider import task_of
from drills.chaos.schedule import JobPlan

STEPS = ["Do it.", "Run it.", "Say what came of it."]
LABEL = "chaos"
NAMED_TASK = (
    "Fix this function and test it: def divide(a, b): return a / b -- it crashes when called with "
    "(10, 0)."
)
"""What the recording that every deployment has is for (see agents/recordings)."""
NAMED_MODEL = "recording:demo-bug-fix"


def own(plan: JobPlan, key: str) -> Mapping[str, Any]:
    """For our own provider, which knows the job by its key."""
    return _spec(plan, task_of(key, plan.recording), plan.steps)


def named(plan: JobPlan, _key: str) -> Mapping[str, Any]:
    """For a deployment that knows nothing of us: a recording, so that nothing is paid."""
    asked = {"model": NAMED_MODEL, "approvals": 1}  # of one key, which is the author's
    return {**_spec(plan, NAMED_TASK, plan.steps), **asked}


def _spec(plan: JobPlan, task: str, steps: bool) -> dict[str, Any]:
    spec: dict[str, Any] = {"task": task, "review": plan.review, "labels": [LABEL]}
    if steps:
        spec["steps"] = STEPS
    return spec


OFFERED = JobPlan(0, 0.0, "", review=True)


def require_accepted(url: str, key: str) -> None:
    """Submit it, and cancel it. Raises CliError where the service does not want it: one that takes
    two approvals for a review would have each job wait for a person whom the drill has not.
    """
    with Service(url, key) as service:
        try:
            job = service.submit(named(OFFERED, ""))
        except Refused as refused:
            text = refused.detail or refused.title
            raise CliError("this service does not take the drill's jobs", text) from refused
        with contextlib.suppress(Refused):  # it may be over
            service.cancel(job["id"])
