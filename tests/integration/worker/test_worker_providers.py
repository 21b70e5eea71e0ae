"""Jobs whose models are true clients of Groq and Gemini, against a local server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.working_model import works
from support.processes.deployment import Deployment, running_deployment

from benchmarks.provider import ProviderServer
from jobs.model.record import Status
from jobs.model.spec import JobSpec

GROQ = "groq:llama-3.3-70b-versatile"
GEMINI = "google_genai:gemini-2.5-flash"
UNPRICED = "groq:made-up-model"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="a", GOOGLE_API_KEY="b") as made:
        yield made


async def test_a_job_by_a_providers_own_client(deployment: Deployment) -> None:
    with ProviderServer(works) as server:
        deployment.worker(groq_base_url=server.groq_url, google_base_url=server.gemini_url)
        async with deployment.operations() as operations:
            for model in (GROQ, GEMINI, UNPRICED):
                job_id = await deployment.submit(operations, JobSpec(task="6 times 7", model=model))
                job = await deployment.until(operations, job_id)
                assert job.status is Status.SUCCEEDED, deployment.logs()
                assert job.result is not None
                assert (job.result.answer, job.result.approved_by) == ("It prints 42.", "critic")
                charges = await operations.store.charges(job_id)
                assert len(charges) == 4
                assert {(each.model, each.input_tokens) for each in charges} == {(model, 10)}
                if model == UNPRICED:
                    assert {each.cost_usd for each in charges} == {None}
                else:
                    assert all(float(each.cost_usd or 0) > 0 for each in charges)
