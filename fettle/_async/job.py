"""A job, its files and its result."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, Unpack

from fettle import types
from fettle._async.service import AsyncService, Content
from fettle.answers import AnswerSource, convert
from fettle.errors import (
    ApiError,
    JobCancelled,
    JobFailed,
    ReviewNeeded,
    ServiceUnreachable,
)
from fettle.events import FINAL, ReceivedEvent, StreamedText
from fettle.notebook import job_html, open_display

LONGEST_WAIT_SECONDS = 20
"""The longest time for which one request waits."""
AGAIN_SECONDS = 2.0
"""The time until the next look at a job with an open review, or at a service that is away."""
PATIENCE = 30
"""The failures in a row after which `result` gives up, which takes about a minute."""


@dataclass(frozen=True)
class AsyncJobFile:
    """A file of a job's workspace. Its content is read when it is needed."""

    job: AsyncJob
    path: str
    size: int
    """Bytes."""

    async def read_bytes(self) -> bytes:
        """The content."""
        return await self.job.file(self.path)

    async def read_text(self) -> str:
        """The content as UTF-8 text."""
        return (await self.read_bytes()).decode()


@dataclass(frozen=True)
class AsyncResult:
    """The outcome of a job that has ended."""

    job: types.Job
    """The complete job."""
    files: Mapping[str, AsyncJobFile]
    """The files of the workspace, by path."""
    page: str = ""
    """The address of the job's page."""

    def _repr_html_(self) -> str:
        return job_html(self.job, self.job.id, self.page, self.files)

    @property
    def answer(self) -> str:
        """The model's answer; empty if the job ended without one."""
        return self.job.result.answer if self.job.result else ""

    @property
    def approved_by(self) -> str | None:
        """`critic`, the names of persons, or None: not approved."""
        return self.job.result.approved_by if self.job.result else None

    @property
    def verification(self) -> types.Verification | None:
        """The evidence that the files work."""
        return self.job.result.verification if self.job.result else None

    @property
    def cost_usd(self) -> float | None:
        """The cost; None if the price of a call is unknown."""
        cost = self.job.cost.total.cost_usd
        return None if cost is None else float(cost)


class AsyncJob:
    """A job of a service. Making this object sends no request."""

    def __init__(self, calls: AsyncService, job_id: str) -> None:
        self.calls = calls
        self.id = job_id
        self.last: types.Job | None = None
        """The newest state that this object has read."""
        self._review: Mapping[str, str | None] = {}
        """`review_id` and `digest` of the open review that the caller saw."""

    @property
    def page(self) -> str:
        """The address of the job's page."""
        return f"{self.calls.url}/app/jobs/{self.id}"

    async def state(self, *, wait: int = 0) -> types.Job:
        """Read the job. `wait`: the seconds for which the service waits until the job has ended or
        waits for a person."""
        return await self._read(wait, math.inf)

    async def _read(self, wait: int, until: float) -> types.Job:
        content = await self.calls.job(self.id, wait=wait, until=until)
        job = convert(self._source(), types.Job.model_validate, content)
        self.last = job
        self._review = {}
        if job.review is not None:
            self._review = {"review_id": job.review.id, "digest": job.review.digest or None}
        return job

    async def events(self, after: int = 0) -> AsyncGenerator[types.Event, None]:
        """Each event after the number `after`, once and in order, to the final one. A lost
        connection is made again."""
        async with aclosing(self.live_events(after, live=False)) as events:
            async for event in events:
                if not isinstance(event, StreamedText):
                    yield event

    async def live_events(
        self, after: int = 0, *, live: bool = True
    ) -> AsyncGenerator[types.Event | StreamedText, None]:
        """As `events`, and also the output of models and runs while it is written."""
        async with aclosing(self.calls.follow(self.id, after, live=live)) as stream:
            async for heard in stream:
                if not isinstance(heard, ReceivedEvent):
                    yield StreamedText.model_validate(heard)
                    continue
                if heard.kind == "review_opened":
                    digest = heard.data.get("digest") or None
                    self._review = {"review_id": heard.data["review_id"], "digest": digest}
                content = {"seq": heard.seq, "at": heard.at, "kind": heard.kind, "data": heard.data}
                yield convert(self._source("/events"), types.EVENTS.validate_python, content)

    async def watch(self) -> None:
        """Show the job in a notebook, and update the display until the job ends. Raises FettleError
        without IPython."""
        display = open_display(self)
        async with aclosing(self.events()) as events:
            async for event in events:
                if self.last is None or event.seq > self.last.last_event:
                    await self.state()
                    display.update(self)

    def _repr_html_(self) -> str:
        """The state that was read last, for a notebook."""
        return job_html(self.last, self.id, self.page)

    async def result(
        self, timeout: float | None = None, *, on_review: Literal["wait", "raise"] = "wait"
    ) -> AsyncResult:
        """Wait for the end of the job. Raises JobFailed, JobCancelled, TimeoutError after `timeout`
        seconds; and with `on_review="raise"` ReviewNeeded if the job waits for a person. If the
        service does not answer, `timeout` also limits the wait for its answers."""
        deadline = time.monotonic() + (math.inf if timeout is None else timeout)
        failures = 0
        while True:
            look_start = time.monotonic()
            seconds = deadline - look_start
            try:
                wait = int(max(0, min(seconds, LONGEST_WAIT_SECONDS)))
                job = await self._read(wait, deadline)
                if job.status in FINAL:
                    return await self._outcome(job, deadline)
            except (ApiError, ServiceUnreachable) as error:
                failures += 1
                passes = not isinstance(error, ApiError) or error.retryable
                if not passes or failures > PATIENCE or time.monotonic() >= deadline:
                    raise
            else:
                failures = 0
                if job.review is not None and on_review == "raise":
                    raise ReviewNeeded(self.id, job.review)
                if seconds <= 0:
                    raise TimeoutError(f"the job {self.id} has not ended in {timeout} seconds")
            # The answer is early if the service is away, or does not wait because of a review.
            if time.monotonic() - look_start < 1:
                await self.calls.sleep(min(seconds, AGAIN_SECONDS))

    async def files(self) -> Mapping[str, AsyncJobFile]:
        """The files of the workspace, by path."""
        return await self._files(math.inf)

    async def _files(self, until: float) -> Mapping[str, AsyncJobFile]:
        listed = await self.calls.files(self.id, until=until)
        return {file["path"]: AsyncJobFile(self, file["path"], file["size"]) for file in listed}

    async def file(self, path: str) -> bytes:
        """The content of a file of the workspace."""
        return await self.calls.file(self.id, path)

    async def artifact(self, name: str, *, digest: str | None = None) -> bytes:
        """The content of a file that a run or a tool made, such as a plot: of this version, by
        default of the newest version."""
        return await self.calls.artifact(self.id, name, digest=digest)

    async def patch(self) -> str:
        """The change in git's format: of the open review, else of the result."""
        return (await self.calls.patch(self.id)).decode(errors="surrogateescape")

    async def approve(self, remark: str = "", *, override: bool = False) -> None:
        """Approve the open review; `override`: although the evidence does not support it."""
        await self._decide("approve", feedback=remark, override=override)

    async def revise(self, feedback: str = "", comments: Sequence[Mapping[str, Any]] = ()) -> None:
        """Send the work back. `comments` on lines of the patch: {path, line, text, side?}."""
        await self._decide("revise", feedback=feedback, comments=list(comments))

    async def reject(self, feedback: str) -> None:
        """Reject the work: the job fails."""
        await self._decide("reject", feedback=feedback)

    async def delegate(self) -> None:
        """Leave the decision to the critic."""
        await self._decide("delegate")

    async def edit(self, files: Mapping[str, str | None], feedback: str = "") -> None:
        """Replace the texts of files by path, and have the work verified again; None removes a
        file."""
        await self._decide("edit", files=dict(files), feedback=feedback)

    async def answer(self, *answers: str) -> None:
        """Answer the planner's questions in their order; an empty text takes the default."""
        await self._decide("answer", answers=list(answers))

    async def message(self, text: str) -> None:
        """Add to the task of the job, until the job has ended; its models read the text before
        their next calls."""
        await self.calls.message(self.id, text)

    async def cancel(self) -> None:
        """Cancel the job. A second call has no effect."""
        await self.calls.cancel(self.id)

    async def retry(self, **terms: Any) -> AsyncJob:
        """Continue a job that failed or was cancelled, with changed terms."""
        return AsyncJob(self.calls, (await self.calls.retry(self.id, terms))["id"])

    async def fork(self, **changes: Any) -> AsyncJob:
        """Begin a new job with the files of this job, with changed fields."""
        return AsyncJob(self.calls, (await self.calls.fork(self.id, changes))["id"])

    async def follow_up(
        self,
        task: str,
        *,
        files: Mapping[str, Content] | None = None,
        bundle: bytes | None = None,
        idempotency_key: str | None = None,
        **fields: Unpack[types.JobOptions],
    ) -> AsyncJob:
        """Submit the next task of this job's conversation; the arguments are those of
        `AsyncClient.submit`."""
        job = self.last or await self.state()
        spec = {"task": task, **fields, "conversation_id": job.conversation_id}
        receipt = await self.calls.submit(spec, files, bundle=bundle, once=idempotency_key)
        return AsyncJob(self.calls, receipt["id"])

    async def _decide(self, action: str, **fields: Any) -> None:
        """Decide the review that the caller saw. The service refuses the decision if another
        review is open now."""
        if not self._review:
            await self.state()
        decision = {name: value for name, value in fields.items() if value}
        await self.calls.decide(self.id, {"action": action, **decision, **self._review})
        self._review = {}

    def _source(self, part: str = "") -> AnswerSource:
        return self.calls.source("GET", f"/jobs/{self.id}{part}")

    async def _outcome(self, job: types.Job, until: float) -> AsyncResult:
        result = AsyncResult(job, await self._files(until), self.page)
        if job.status == "failed":
            raise JobFailed(self.id, str(job.reason), job.detail, result)
        if job.status == "cancelled":
            raise JobCancelled(self.id, result)
        return result
