"""The client of a service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Self, Unpack

import httpx

from fettle import types
from fettle._async.job import AsyncJob
from fettle._async.service import AsyncService, Content
from fettle.answers import convert
from fettle.errors import ApiError
from fettle.problems import TYPES

PAGE = 50
"""Jobs in one answer."""


@dataclass(frozen=True)
class AsyncBatch:
    """Jobs that were submitted together."""

    client: AsyncClient
    id: str
    jobs: Sequence[AsyncJob | ApiError] = ()
    """For each request, in their order: its job, or the reason for its refusal."""

    async def state(self) -> types.Batch:
        """The number of its jobs by status, and their cost so far."""
        return self._batch(await self.client.calls.batch(self.id))

    async def cancel(self) -> types.Batch:
        """Cancel all jobs that have not ended."""
        return self._batch(await self.client.calls.cancel_batch(self.id))

    def _batch(self, content: Mapping[str, Any]) -> types.Batch:
        source = self.client.calls.source("GET", f"/batches/{self.id}")
        return convert(source, types.Batch.model_validate, content)


def _error(problem: Mapping[str, Any]) -> ApiError:
    return TYPES.get(problem["type"], ApiError)(problem, "/jobs/batch")


class AsyncClient:
    """A service that runs jobs.

    Without `url` and `api_key`, FETTLE_URL and FETTLE_API_KEY name the service and the key to it;
    without these variables, the client calls `fettle up` on this machine. `http` makes the
    requests, and its owner closes it. Raises BadSettings.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self.calls = AsyncService(url, api_key, http=http)
        """Each call of the API; answers are JSON objects."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self.calls.aclose()

    async def submit(
        self,
        task: str,
        *,
        files: Mapping[str, Content] | None = None,
        bundle: bytes | None = None,
        idempotency_key: str | None = None,
        **fields: Unpack[types.JobOptions],
    ) -> AsyncJob:
        """Submit a task.

        `files`: the files that the job starts with, by path. `bundle`: a git bundle of the
        repository. `fields`: further fields of the request, such as `verify`, `repo`, `review`,
        `model` (docs/api.md). Two submissions with the same `idempotency_key` are one job.
        """
        receipt = await self.calls.submit(
            {"task": task, **fields}, files, bundle=bundle, once=idempotency_key
        )
        return self.job(receipt["id"])

    async def submit_many(
        self, requests: Sequence[types.JobRequest], *, idempotency_key: str | None = None
    ) -> AsyncBatch:
        """Submit up to 500 jobs. A wrong request stops no other: see `AsyncBatch.jobs`.

        Two submissions with the same `idempotency_key` are one batch. If the error of a request is
        `retryable`, for example because the queue was full, submit the same requests with the same
        key again: then only the missing jobs are made.
        """
        receipt = await self.calls.submit_batch(requests, once=idempotency_key)
        return AsyncBatch(
            self,
            receipt["id"],
            [
                self.job(answer["job"]["id"]) if answer["job"] else _error(answer["problem"])
                for answer in receipt["jobs"]
            ],
        )

    def batch(self, batch_id: str) -> AsyncBatch:
        """The batch with this id, without its `jobs`. No request is sent."""
        return AsyncBatch(self, batch_id)

    def job(self, job_id: str) -> AsyncJob:
        """The job with this id. No request is sent."""
        return AsyncJob(self.calls, job_id)

    def jobs(self, **filters: Any) -> AsyncGenerator[types.JobSummary, None]:
        """The jobs that match all filters of `GET /jobs`, newest first."""
        return self._summaries("/jobs", **filters)

    def conversations(self) -> AsyncGenerator[types.JobSummary, None]:
        """The first job of each conversation, newest first."""
        return self._summaries("/conversations")

    async def conversation(self, conversation_id: str) -> types.Conversation:
        """The newest jobs of a conversation, in the order of their submission."""
        source = self.calls.source("GET", f"/conversations/{conversation_id}")
        content = await self.calls.conversation(conversation_id)
        return convert(source, types.Conversation.model_validate, content)

    async def _summaries(self, path: str, **filters: Any) -> AsyncGenerator[types.JobSummary, None]:
        source = self.calls.source("GET", path)
        async with aclosing(self.calls.all_jobs(path, PAGE, **filters)) as jobs:
            async for job in jobs:
                yield convert(source, types.JobSummary.model_validate, job)
