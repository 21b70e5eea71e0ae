"""A model server that makes the shipped fix of each task in two halves.

`fettle bench repos --canonical --parallel` and `--follow-up` check with it that Fettle combines the
halves: all hidden tests must pass over the result.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cli.output import Screen
from fettle import Service
from lab.evals.repos.halves import fix_halves, task_halves
from lab.evals.repos.task import RepoTask
from lab.evals.run import service
from lab.evals.run.request import MeasurementRequest
from lab.provider import ProviderServer, Refusal, Reply, Request, Tokens, ToolCall, Turn

PROVIDER, MODEL = "groq", "shipped-fix"
STEPS: list[dict[str, Any]] = [
    {"does": "Make the first half of the fix.", "after": []},
    {"does": "Make the second half of the fix.", "after": []},
    {"does": "Look at the result.", "after": [1, 2]},
]
_APPLY = """\
import base64, subprocess
patch = base64.b64decode("{patch}")
subprocess.run(["git", "apply", "--whitespace=nowarn"], input=patch, check=True)
"""


TERMS = {"on_exhausted": "accept"}
"""No verification supports the halves: the hidden tests judge them afterwards."""


def request_of(*, parallel: bool, follow_up: bool) -> MeasurementRequest:
    """The settings of the jobs."""
    return MeasurementRequest(
        f"{PROVIDER}:{MODEL}", max_revisions=1, parallel=parallel, follow_up=follow_up
    )


@contextmanager
def running_service(
    tasks: Sequence[RepoTask], screen: Screen, *, follow_up: bool
) -> Iterator[Service]:
    """A temporary service whose model makes the shipped fixes of these tasks."""
    with ProviderServer(ShippedFixes(tasks, follow_up).answer, remembers=False) as server:
        environment = {"GROQ_API_KEY": "any", "FETTLE_GROQ_BASE_URL": server.groq_url}
        models = (f"{PROVIDER}:{MODEL}",)
        with service.running(None, screen, None, models, environment) as running:
            yield running


@dataclass(frozen=True, slots=True)
class ShippedFixes:
    """The model's side of the jobs on these tasks."""

    tasks: Sequence[RepoTask]
    follow_up: bool
    """Whether the halves are two jobs. Otherwise they are two parallel steps of one job."""

    def answer(self, request: Request) -> Turn:
        """The script of the server."""
        match request.forced_tool:
            case "ParallelPlan":
                return _call("ParallelPlan", {"steps": STEPS})
            case "Plan":
                return _call("Plan", {"steps": [step["does"] for step in STEPS]})
            case "Verdict":
                return _call("Verdict", {"verdict": "approve", "feedback": ""})
        if request.replies_so_far:
            return Reply("Done.", tokens=Tokens(200, 20))
        prompt = "\n".join(message.text for message in request.messages)
        patch = self._patch(prompt)
        if patch is None:
            return Refusal(400, f"no task matches: {prompt[:200]}")
        if not patch:
            return Reply("Nothing is left.", tokens=Tokens(200, 20))
        code = _APPLY.format(patch=base64.b64encode(patch).decode())
        return _call("python", {"code": code})

    def _patch(self, prompt: str) -> bytes | None:
        """The patch that a pass with this prompt makes; empty in the pass that joins two branches.
        None if no task matches."""
        for task in self.tasks:
            first, second = fix_halves(task)
            if self.follow_up and task_halves(task)[1].strip() in prompt:
                return second
            if task.problem.strip() in prompt:
                if self.follow_up or "Do step 1 of this plan" in prompt:
                    return first
                return second if "Do step 2 of this plan" in prompt else b""
        return None


def _call(name: str, args: dict[str, object]) -> Reply:
    return Reply(tool_calls=(ToolCall(name, args),), tokens=Tokens(200, 80))
