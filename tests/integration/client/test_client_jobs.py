"""The client against an API process, a worker and the server of a model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from support.processes.deployment import running_deployment
from support.processes.fronts import front
from support.processes.scene import Work

import fettle._sync.client
from fettle import AsyncClient, Client, Job
from fettle.errors import JobCancelled, JobFailed, ReviewNeeded
from fettle.events import StreamedText
from fettle.problems import (
    IdempotencyKeyReused,
    InvalidRequest,
    NoOpenReview,
    NotFound,
    StaleReview,
    WrongState,
)
from fettle.types import AnsweredEvent, ReviewOpenedEvent, RunFinishedEvent, SucceededEvent
from lab.provider import ProviderServer, Reply, Request, ToolCall, Turn
from settings.base import DEVELOPMENT_KEY

pytestmark = pytest.mark.timeout(300)
ADDS = "open('total.txt', 'w').write(str(sum(map(int, open('numbers.txt')))))"
REFUSED = Reply(tool_calls=(ToolCall("Verdict", {"verdict": "revise", "feedback": "No tests."}),))
WORK = {
    "groq:adds": Work((ADDS,)),
    "groq:unapproved": Work((ADDS,)),
    "groq:slow": Work(("print(1)",), seconds=60),
}
"""The work of each model."""
NUMBERS = {"numbers.txt": "1\n2\n3\n"}
TASK = "Add the numbers of numbers.txt."
SECONDS = 240.0
"""The first job waits for the start of the worker, which takes minutes on an overloaded machine."""


def script(request: Request) -> Turn:
    if (request.model, request.forced_tool) == ("unapproved", "Verdict"):
        return REFUSED
    return WORK[f"groq:{request.model}"].turn(request, 0)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service with a worker."""
    folder = tmp_path_factory.mktemp("service")
    with (
        running_deployment(folder, GROQ_API_KEY="a") as deployment,
        ProviderServer(script) as model,
    ):
        deployment.worker(groq_base_url=model.groq_url)
        with front(deployment) as api:
            yield api.url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url, DEVELOPMENT_KEY) as client:
        yield client


@pytest.fixture
async def async_client(url: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(url, DEVELOPMENT_KEY) as client:
        yield client


def reviewed(client: Client, **fields: object) -> Job:
    """A job with an open review, which the caller has seen."""
    job = client.submit(TASK, files=NUMBERS, model="groq:adds", review=True, **fields)
    with pytest.raises(ReviewNeeded):
        job.result(SECONDS, on_review="raise")
    return job


def test_a_batch_has_a_job_or_an_error_for_each_request(client: Client) -> None:
    good = {"task": TASK, "files": NUMBERS, "model": "groq:adds"}
    requests = [good, {"task": ""}, good]
    batch = client.submit_many(requests, idempotency_key="nightly")
    first, refused, last = batch.jobs
    assert isinstance(refused, InvalidRequest)
    assert "task" in refused.detail
    again = client.submit_many(requests, idempotency_key="nightly").jobs
    assert [again[0].id, again[2].id] == [first.id, last.id]
    first.result(SECONDS)
    last.result(SECONDS)
    state = client.batch(batch.id).state()
    assert (state.counts, state.ended) == ({"succeeded": 2}, True)
    assert batch.cancel().counts == state.counts


def test_a_job_from_its_submission_to_its_files(client: Client, tmp_path: Path) -> None:
    third = tmp_path / "third.txt"
    third.write_bytes(b"\x00\xff")
    files = {**NUMBERS, "data/bytes.bin": b"\xfe", "data/third.bin": third}
    job = client.submit(TASK, files=files, model="groq:adds")

    answers, programs, numbers = [], [], []
    for event in job.events():
        numbers.append(event.seq)
        match event:
            case RunFinishedEvent(data=run):
                programs.append(run.code.text)
            case AnsweredEvent(data=answer):
                answers.append(answer.text)
            case SucceededEvent(data=data):
                assert data.approved_by == "critic"
    assert numbers == list(range(1, numbers[-1] + 1))
    assert programs[0] == ADDS
    assert answers == ["It is done."]
    assert [event.seq for event in job.events(after=numbers[-3])] == numbers[-2:]
    assert list(job.events(after=numbers[-1])) == []

    result = job.result(SECONDS)
    assert (result.answer, result.approved_by) == ("It is done.", "critic")
    assert result.files["total.txt"].read_text() == "6"
    assert result.files["data/bytes.bin"].read_bytes() == b"\xfe"
    assert result.files["data/third.bin"].size == 2
    assert result.job.spec.task == TASK
    assert job.last == result.job

    following = job.follow_up("Once more.", model="groq:adds")
    following.result(SECONDS)
    thread = client.conversation(job.id)
    assert [outcome.id for outcome in thread.jobs] == [job.id, following.id]
    with pytest.raises(NotFound):
        client.job("j-unknown").state()


def test_a_person_revises_edits_and_approves(client: Client) -> None:
    job = reviewed(client)
    first_review = job.last.review.id if job.last and job.last.review else ""
    hasty = client.job(job.id)
    hasty.state()

    job.revise("Say how many numbers there are.")
    with pytest.raises((StaleReview, NoOpenReview)):
        hasty.approve()
    with pytest.raises(ReviewNeeded) as raised:
        job.result(SECONDS, on_review="raise")
    assert raised.value.review.id != first_review
    job.edit({"numbers.txt": "4\n", "note.txt": "By hand.\n"})
    with pytest.raises(ReviewNeeded):
        job.result(SECONDS, on_review="raise")
    job.approve("Good.", override=True)
    result = job.result(SECONDS)
    assert result.approved_by not in (None, "critic")
    assert result.files["note.txt"].read_text() == "By hand.\n"
    decisions = [(decision.action, decision.feedback) for decision in result.job.decisions]
    assert decisions[0] == ("revise", "Say how many numbers there are.")
    assert [action for action, _ in decisions] == ["revise", "edit", "approve"]


def test_a_decision_names_the_review_of_the_events(client: Client) -> None:
    job = client.submit(TASK, files=NUMBERS, model="groq:adds", review=True)
    for event in job.events():
        if isinstance(event, ReviewOpenedEvent):
            break
    client.job(job.id).revise("Again, please.")
    with pytest.raises((StaleReview, NoOpenReview)):
        job.approve()
    job.cancel()


def test_a_rejected_job_has_failed(client: Client) -> None:
    job = reviewed(client)
    job.reject("Not what I need.")
    with pytest.raises(JobFailed, match="rejected") as failed:
        job.result(SECONDS)
    assert failed.value.reason == "rejected"


def test_jobs_are_listed_over_all_pages(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fettle._sync.client, "PAGE", 2)
    jobs = [client.submit("x", model="groq:slow", labels=["pages"]) for _ in range(5)]
    assert [job.id for job in client.jobs(label="pages")] == [job.id for job in reversed(jobs)]
    assert {job.id for job in jobs} <= {job.id for job in client.conversations()}
    for job in jobs:
        job.cancel()
    with pytest.raises(JobCancelled):
        jobs[0].result(SECONDS)


def test_a_key_makes_one_job(client: Client) -> None:
    first, second = (
        client.submit("x", model="groq:slow", idempotency_key="once") for _ in range(2)
    )
    assert first.id == second.id
    with pytest.raises(IdempotencyKeyReused):
        client.submit("y", model="groq:slow", idempotency_key="once")
    first.cancel()
    retried = first.retry()
    assert retried.id != first.id
    retried.cancel()


def test_a_job_takes_messages_until_it_has_ended(client: Client) -> None:
    job = client.submit("x", model="groq:slow")
    job.message("Round to cents, too.")
    assert [message.text for message in job.state().messages] == ["Round to cents, too."]
    job.cancel()
    with pytest.raises(JobCancelled):
        job.result(SECONDS)
    with pytest.raises(WrongState):
        job.message("And print it.")


async def test_a_failed_job_has_its_best_result(async_client: AsyncClient) -> None:
    job = await async_client.submit(TASK, files=NUMBERS, model="groq:unapproved", max_revisions=1)
    with pytest.raises(JobFailed, match="unapproved") as failed:
        await job.result(SECONDS)
    assert await failed.value.result.files["total.txt"].read_text() == "6"
    assert failed.value.result.approved_by is None
    fork = await job.fork(model="groq:adds")
    assert (await fork.result(SECONDS)).approved_by == "critic"


async def test_a_wait_has_a_limit(async_client: AsyncClient) -> None:
    job = await async_client.submit("x", model="groq:slow")
    with pytest.raises(TimeoutError):
        await job.result(0.5)
    await job.cancel()
    with pytest.raises(JobCancelled):
        await job.result(SECONDS)


class CutStreams(httpx.AsyncHTTPTransport):
    """Cuts each of the first streams of events after its first part."""

    def __init__(self, streams: int) -> None:
        super().__init__()
        self.cuts = streams

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if request.url.path.endswith("/events") and self.cuts:
            self.cuts -= 1
            assert isinstance(response.stream, httpx.AsyncByteStream)
            response.stream = CutStream(response.stream)
        return response


class CutStream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self.stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self.stream:
            yield part
            raise httpx.ReadError("the connection was cut")

    async def aclose(self) -> None:
        await self.stream.aclose()


async def test_events_continue_over_cut_connections(url: str) -> None:
    transport = CutStreams(4)
    async with (
        httpx.AsyncClient(transport=transport) as http,
        AsyncClient(url, DEVELOPMENT_KEY, http=http) as client,
    ):
        job = await client.submit(TASK, files=NUMBERS, model="groq:adds")
        live = [event async for event in job.live_events()]
        numbers = [event.seq for event in live if not isinstance(event, StreamedText)]
        assert transport.cuts == 0
        assert numbers == list(range(1, (await job.state()).last_event + 1))
        roles = {event.role for event in live if isinstance(event, StreamedText)}
        assert roles <= {"planner", "executor", "critic", "python"}
        assert "+++ b/total.txt" in await job.patch()
