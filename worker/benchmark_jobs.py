"""The jobs of a benchmark's exercises: submits and reads them for one attempt at the benchmark.

See ADR 94.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar

from jobs.benchmarks import BenchmarkRefused, NotStarted, Unfinished, Values, known_cost
from jobs.blobs import manifest
from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import normalize_path
from jobs.commits import benchmark_label
from jobs.model.events import Event
from jobs.model.record import JobRecord
from jobs.model.spec import CheckSpec, JobKind, JobSpec
from jobs.service import Operations, Submission
from jobs.store import Idempotency, LeaseRef
from jobs.store.blob_index import PinnedBlobs
from jobs.view.job import render_cost, render_job

T = TypeVar("T")


class WorkerJobs:
    """Implements `jobs.benchmarks.ExerciseJobs`, for the submitter of the benchmark `record`.

    The laboratory calls its methods in a thread; reads and writes happen in the `loop` of the
    attempt, which holds `lease`. If the attempt loses it, a submission raises StaleEpoch.
    """

    def __init__(
        self,
        record: JobRecord,
        operations: Operations,
        lease: LeaseRef,
        blobs: Blobs,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._record = record
        self._operations = operations
        self._store = operations.store
        self._lease = lease
        self._blobs = blobs
        self._loop = loop
        self._spent: dict[str, Decimal] = {}
        """In US dollars, by the id of the job."""

    def count_results(self, results: Iterable[Values]) -> None:
        """Count the cost of results, which the budget bounds."""
        for result in results:
            self._spent[result["job"]] = known_cost(result["cost"])

    def wait_for(self, work: Awaitable[T]) -> T:
        """The result of work in the loop."""

        async def run() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    def submit(self, spec: Values, *, once: str) -> Values:
        """See ExerciseJobs."""
        return self.wait_for(self._submit(once, lambda blobs: self._exercise_spec(spec, blobs)))

    def verify(self, request: Values, *, once: str) -> Values:
        """See ExerciseJobs."""
        return self.wait_for(
            self._submit(once, lambda blobs: self._verification_spec(request, blobs))
        )

    def events(self, job_id: str) -> Sequence[Event]:
        """See ExerciseJobs."""
        return self.wait_for(self._events(job_id))

    def job(self, job_id: str) -> Values:
        """See ExerciseJobs."""
        return self.wait_for(self._job(job_id))

    def files(self, job_id: str) -> Sequence[Values]:
        """See ExerciseJobs."""
        return self.wait_for(self._files(job_id))

    def artifact(self, job_id: str, name: str, *, digest: str) -> bytes:  # noqa: ARG002 - the port
        """See ExerciseJobs."""
        return self.wait_for(self._blobs.get(digest))

    def text(self, href: str) -> str:
        """See ExerciseJobs; `_job` makes the digest of a text its address."""
        return self.wait_for(self._blobs.get(href)).decode(errors="replace")

    async def _submit(
        self, once: str, make_spec: Callable[[PinnedBlobs], Awaitable[JobSpec]]
    ) -> Values:
        """Submit a job, unless it was submitted before."""
        record, key = self._record, Idempotency(once, once)
        submission = await self._operations.find_submission(record.tenant, key)
        if submission is None:
            digests: list[str] = []
            blobs = PinnedBlobs(self._blobs, self._store.blobs.pin, digests.append)
            submission = await self._operations.submit(
                record.tenant,
                await make_spec(blobs),
                idempotency=key,
                blobs=digests,
                lease=self._lease,
                by=record.submitted_by,
                key_id=record.key_id,
                person=record.person,
                request_id=record.request_id,
            )
        if not isinstance(submission, Submission):
            raise BenchmarkRefused(f"an exercise could not be submitted: {submission.detail}")
        return {"id": submission.record.id}

    async def _exercise_spec(self, request: Values, blobs: PinnedBlobs) -> JobSpec:
        """The spec of a task, with the terms of the benchmark. Raises NotStarted."""
        spec = self._record.spec
        budget = spec.benchmark.budget_usd if spec.benchmark else None
        if budget is not None and sum(self._spent.values()) >= Decimal(budget):
            raise NotStarted(f"the budget of ${budget} is spent")
        return replace(
            spec,
            kind=JobKind.EXERCISE,
            benchmark=None,
            task=request["task"],
            workspace=await self._store_files(None, request["files"], blobs),
            repair=request["repair"],
            max_revisions=request["max_revisions"],
            labels=(benchmark_label(self._record.id),),
            conversation_id=None,
            retry_of=None,
            fork_of=None,
        )

    async def _verification_spec(self, request: Values, blobs: PinnedBlobs) -> JobSpec:
        spec, checks, base = self._record.spec, request["checks"], None
        if (base_id := request.get("job_id")) is not None:
            base = (await self._load(base_id)).workspace
        tests = await self._store_files(None, checks["files"], blobs)
        assert tests is not None  # noqa: S101 - only exercises with tests are verified
        return JobSpec(
            task=f"Hidden tests of an exercise of benchmark {self._record.id}",
            workspace=await self._store_files(base, request["files"], blobs),
            timeout_seconds=spec.timeout_seconds,
            priority=spec.priority,
            labels=(benchmark_label(self._record.id),),
            kind=JobKind.VERIFICATION,
            checks=CheckSpec(tests, tuple(sorted(checks["files"])), checks["command"]),
        )

    async def _store_files(
        self, base: str | None, texts: Mapping[str, str], blobs: PinnedBlobs
    ) -> str | None:
        """Store `texts`, and the other files of the workspace `base`. Returns the digest of the
        manifest; None without files. All bytes are stored for the new job, because the job of
        `base` may be removed first."""
        base_manifest = await manifest.load(blobs, base)
        await blobs.put_all([await blobs.get(file.digest) for file in base_manifest.files.values()])
        contents = {normalize_path(path): text.encode() for path, text in texts.items()}
        entries = await manifest.store_files(blobs, contents)
        merged = base_manifest.with_files(entries, frozenset())
        return await blobs.put(merged.dump()) if merged.files else None

    async def _load(self, job_id: str) -> JobRecord:
        loaded = await self._store.load(job_id)
        if loaded is None:
            raise Unfinished(f"the job {job_id} was removed: the next look submits it again")
        return loaded.record

    async def _events(self, job_id: str) -> Sequence[Event]:
        is_final = (await self._load(job_id)).status.final
        total = render_cost(await self._store.charges(job_id))["total"]
        self._spent[job_id] = known_cost(total)  # a result counts it only after the verification
        if not is_final:
            raise Unfinished(f"job {job_id} has not ended")
        return await self._store.events(job_id)

    async def _job(self, job_id: str) -> dict[str, Any]:
        record = await self._load(job_id)
        events, charges = await asyncio.gather(
            self._store.events(job_id), self._store.charges(job_id)
        )
        job = render_job(record, events, charges, record.updated_at)
        for run in job["runs"]:
            run["code"] = {**run["code"], "href": run["code"]["digest"]}
        return job

    async def _files(self, job_id: str) -> list[dict[str, Any]]:
        files = (await manifest.load(self._blobs, (await self._load(job_id)).workspace)).files
        return [{"path": path, "digest": entry.digest} for path, entry in files.items()]
