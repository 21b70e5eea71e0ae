"""Jobs with the model `auto`: the task determines the model, and a crash does not change it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.working_model import works
from support.processes.deployment import MORTAL, Deployment, running_deployment

from jobs.model.record import Status
from jobs.model.spec import JobSpec
from lab.provider import ProviderServer, Reply, Request, ToolCall, Turn

ROUTES = {
    "route_simple": "groq:small",
    "route_medium": "groq:medium",
    "route_hard": "groq:large",
    "router_model": "groq:router",
}
HARD = "A simple asyncio scheduler, short"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="a") as started_deployment:
        yield started_deployment


def judges(request: Request) -> Turn:
    """A model that does its work, and that rates the difficulty of a task."""
    if request.forced_tool == "Judged":
        difficulty = "hard" if HARD in request.last_text else "simple"
        return Reply(tool_calls=(ToolCall("Judged", {"difficulty": difficulty, "reason": "So."}),))
    return works(request)


async def test_the_task_determines_the_model_and_a_crash_does_not_choose_again(
    deployment: Deployment,
) -> None:
    with ProviderServer(judges) as server:
        url = server.groq_url
        # the worker dies after the plan is paid for and recorded, and the router's reply before it
        cut = {"fail_point": "after_journal:2", "lease_seconds": MORTAL}
        deployment.worker(groq_base_url=url, **cut, **ROUTES)
        async with deployment.operations() as operations:
            job_id = await deployment.submit(operations, JobSpec(task=HARD, model="auto"))
            deployment.workers[0].wait(30)
            deployment.worker(groq_base_url=url, **ROUTES)
            job = await deployment.until(operations, job_id)
            assert job.status is Status.SUCCEEDED, deployment.logs()
            kinds = await deployment.kinds(operations, job_id)
            assert kinds.count("routed") == 1
            assert kinds.index("routed") < kinds.index("planned")
            requested_models = [request.model for request in server.requests]
            assert requested_models == ["router", *["large"] * 4]
            server.requests.clear()

            job_id = await deployment.submit(operations, JobSpec(task="Print hello", model="auto"))
            assert (await deployment.until(operations, job_id)).status is Status.SUCCEEDED, (
                deployment.logs()
            )
            requested_models = [request.model for request in server.requests]
            assert (requested_models[0], set(requested_models[1:])) == ("router", {"small"})
            data_by_kind = {
                event.kind: event.data for event in await operations.store.events(job_id)
            }
            assert (data_by_kind["routed"]["difficulty"], data_by_kind["routed"]["by"]) == (
                "simple",
                "model",
            )
            # A simple task runs without a planner.
            assert data_by_kind["planned"]["source"] == "default"
