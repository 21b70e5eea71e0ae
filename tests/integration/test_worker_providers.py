"""Jobs whose models are true clients of Groq and Gemini, against a local server in any mood."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from house import House, a_house

from bench.provider import Hang, ProviderServer, Refusal, Reply, Request, ToolCall, Turn
from jobs.record import Reason, Status
from jobs.spec import JobSpec

GROQ = "groq:llama-3.3-70b-versatile"
GEMINI = "google_genai:gemini-2.5-flash"
UNPRICED = "groq:made-up-model"
FLAKY = 2


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path, GROQ_API_KEY="a", GOOGLE_API_KEY="b") as made:
        yield made


def works(request: Request) -> Turn:
    """A model that does its job in every role."""
    if request.forced_tool == "Plan":
        return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Write.", "Run.", "Look."]}),))
    if request.forced_tool == "Verdict":
        return Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve", "run": "r1"}),))
    if request.messages[-1].speaker == "tool":
        return Reply("It prints 42.")
    return Reply(tool_calls=(ToolCall("python", {"code": "print(6 * 7)"}),))


class Moods:
    """A model a mood; `flaky` refuses the first times, then works."""

    def __init__(self) -> None:
        self.refused = 0

    def __call__(self, request: Request) -> Turn:
        match request.model:
            case "busy":
                return Refusal(429)
            case "broken":
                return Refusal(500)
            case "silent":
                return Hang()
            case "forbidden":
                return Refusal(401)
            case "flaky" if self.refused < FLAKY:
                self.refused += 1
                return Refusal(503)
        return works(request)


async def test_a_job_by_a_providers_own_client(house: House) -> None:
    with ProviderServer(works) as server:
        house.worker(groq_base_url=server.groq_url, google_base_url=server.gemini_url)
        async with house.operations() as operations:
            for model in (GROQ, GEMINI, UNPRICED):
                job_id = await house.submit(operations, JobSpec(task="6 times 7", model=model))
                job = await house.until(operations, job_id)
                assert job.status is Status.SUCCEEDED, house.logs()
                assert job.result is not None
                assert (job.result.answer, job.result.approved_by) == ("It prints 42.", "critic")
                charges = await operations.store.charges(job_id)
                assert len(charges) == 4
                assert {(each.model, each.input_tokens) for each in charges} == {(model, 10)}
                if model == UNPRICED:
                    assert {each.cost_usd for each in charges} == {None}
                else:
                    assert all(float(each.cost_usd or 0) > 0 for each in charges)


async def test_a_provider_that_is_down_never_makes_a_success(house: House) -> None:
    with ProviderServer(Moods()) as server:
        house.worker(
            groq_base_url=server.groq_url,
            model_timeout_seconds="1",
            model_max_retries="0",
            retry_seconds="0.1",
        )
        async with house.operations() as operations:
            asked = {
                mood: await house.submit(
                    operations, JobSpec(task="6 times 7", model=f"groq:{mood}")
                )
                for mood in ("busy", "broken", "silent", "forbidden", "flaky")
            }
            for mood, job_id in asked.items():
                job = await house.until(operations, job_id)
                tries = sum(request.model == mood for request in server.requests)
                told = await house.kinds(operations, job_id)
                if mood == "flaky":
                    assert job.status is Status.SUCCEEDED, house.logs()
                    assert (job.attempts, tries) == (1 + FLAKY, 4 + FLAKY)
                    continue
                assert (job.status, job.reason) == (Status.FAILED, Reason.MODEL_UNAVAILABLE)
                assert job.detail
                assert job.result is None or not job.result.answer
                assert not {"model_called", "run_finished", "critiqued"} & set(told)
                assert await operations.store.charges(job_id) == []
                again = 0 if mood == "forbidden" else 3  # a refusal for good is not asked again
                assert (told.count("given_back"), tries) == (again, 1 + again)
