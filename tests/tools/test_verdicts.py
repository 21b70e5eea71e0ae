"""The recorded jobs of `lab.evals.verdicts`: the rules give the expected verdict on each job."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from lab.evals.verdicts.play import play
from lab.evals.verdicts.recorded_job import RecordedJob, recorded_jobs
from sandbox.local import LocalSandbox
from settings.sandbox import sandbox_python

pytestmark = pytest.mark.asyncio(loop_scope="module")
JOBS = recorded_jobs()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    local = LocalSandbox(sandbox_python())
    yield local
    await local.close()


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
async def test_the_rules_give_the_expected_verdict(job: RecordedJob, sandbox: LocalSandbox) -> None:
    assert (await play(job, sandbox)).differences == []


async def test_the_set_has_ten_planted_faults_and_ten_sound_jobs() -> None:
    planted = sum(job.is_planted for job in JOBS)
    assert planted >= 10
    assert len(JOBS) - planted >= 10
