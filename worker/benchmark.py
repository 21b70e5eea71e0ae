"""A benchmark as a job: each attempt looks at its exercises once, and releases the job.

An attempt submits the jobs of exercises that are due, records the results of exercises that have
ended, and rests. While it rests it holds no slot of the worker. Each submission has a key and is
fenced by the attempt's lease, and each result is an event with a key: a crash at any point loses
and repeats no exercise. The laboratory decides, in a thread: see `jobs.benchmarks`.

See ADR 94.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.benchmarks import (
    REPORT_FILE,
    RESULTS_FILE,
    BenchmarkRefused,
    Laboratory,
    LaboratoryMissing,
    Measurement,
    Values,
    load_laboratory,
)
from jobs.blobs import manifest
from jobs.model.events import NewEvent
from jobs.model.record import JobRecord, Reason, Result, Wait
from jobs.service import Operations
from jobs.store.blob_index import PinnedBlobs
from jobs.transitions.lifecycle import Refusal
from jobs.view.job import format_time
from worker.benchmark_jobs import WorkerJobs
from worker.job_ending import JobEnding
from worker.ledger import AttemptWriter

REST_SECONDS, LONGEST_REST_SECONDS = 2.0, 30.0
"""The bounds of the pause between two looks at the exercises."""
REST_FACTOR = 4
"""A pause is at least this many times as long as the look: looks at thousands of exercises leave
the slot to other jobs."""


@dataclass(frozen=True, slots=True)
class BenchmarkRunner:
    """One attempt at a benchmark. Raises StoreUnavailable, BlobMissing and StaleEpoch."""

    record: JobRecord
    operations: Operations
    writer: AttemptWriter
    blobs: PinnedBlobs
    ending: JobEnding

    async def run(self) -> JobRecord | Refusal:
        """Look at the exercises; then the job rests, or ends if all exercises have ended."""
        try:
            laboratory = await asyncio.to_thread(load_laboratory)  # imports much
        except LaboratoryMissing as error:  # another worker may have it
            wait = Wait("the laboratory", str(error))
            return await self.operations.rest(self.writer.lease, wait, REST_SECONDS)
        try:
            started_at = time.monotonic()
            measurement = await self._measurement()
            header, results = await self._state(laboratory, measurement)
            has_ended = await self._advance(laboratory, measurement, header, results)
        except BenchmarkRefused as error:
            return await self.ending.fail(Reason.INTERNAL, str(error), None)
        if has_ended:
            return await self._finish(laboratory, measurement, header, results)
        wait = Wait("exercises", f"{len(results)} of {header['tries']} have ended")
        seconds = max(REST_SECONDS, REST_FACTOR * (time.monotonic() - started_at))
        return await self.operations.rest(
            self.writer.lease, wait, min(seconds, LONGEST_REST_SECONDS)
        )

    async def _measurement(self) -> Measurement:
        spec = self.record.spec
        files = (await manifest.load(self.blobs, spec.workspace)).files
        contents = [(path, await self.blobs.get(entry.digest)) for path, entry in files.items()]
        began = format_time(self.record.started_at) or ""
        # the API admits one file at most
        return Measurement(self.record.id, spec, contents[0] if contents else None, began)

    async def _state(
        self, laboratory: Laboratory, measurement: Measurement
    ) -> tuple[Values, list[Values]]:
        """The header and the results so far. The first attempt makes the header."""
        events = await self.operations.store.events(self.record.id)
        results = [event.data for event in events if event.kind == "exercise_finished"]
        for event in events:
            if event.kind == "benchmark_started":
                return event.data, results
        header = await asyncio.to_thread(laboratory.begin, measurement)
        await self._emit("benchmark_started", "", header)
        return header, results

    async def _advance(
        self,
        laboratory: Laboratory,
        measurement: Measurement,
        header: Values,
        results: list[Values],
    ) -> bool:
        """Advance all exercises, and add the new results to `results`. Returns whether all have
        ended."""
        jobs = WorkerJobs(
            self.record, self.operations, self.writer.lease, self.blobs, asyncio.get_running_loop()
        )
        jobs.count_results(results)

        def record(result: Values) -> None:
            jobs.wait_for(self._emit("exercise_finished", _key(result), result))
            jobs.count_results([result])
            results.append(result)

        return await asyncio.to_thread(
            laboratory.advance, measurement, header, tuple(results), jobs, record
        )

    async def _emit(self, kind: str, key: str, data: Values) -> None:
        self.writer.batch.events.append(NewEvent(f"{kind}:{key}", kind, data))
        await self.writer.send()

    async def _finish(
        self,
        laboratory: Laboratory,
        measurement: Measurement,
        header: Values,
        results: Sequence[Values],
    ) -> JobRecord | Refusal:
        """Store the files of the results, and end the job."""
        lines = await asyncio.to_thread(laboratory.result_lines, header, results)
        report = await asyncio.to_thread(laboratory.report, header, results)
        result_count, planned = len(results), header["tries"]
        budget = measurement.terms.budget_usd
        summary = {**report, "planned": planned, "budget_usd": budget}
        artifacts = await self._store_files(
            {RESULTS_FILE: lines, REPORT_FILE: json.dumps(summary, indent=2).encode()}
        )
        answer = f"{result_count} of {planned} tries have ended."
        if result_count < planned:
            answer += f" The others were not started, because the budget of ${budget} is spent."
        result = Result(answer, approved_by=None, artifacts=artifacts, benchmark=summary)
        return await self.ending.succeed(result)

    async def _store_files(self, contents: Mapping[str, bytes]) -> tuple[dict[str, Any], ...]:
        """Add files to the workspace; returns them as artifacts."""
        entries = await manifest.store_files(self.blobs, contents)
        earlier_files = await manifest.load(self.blobs, self.record.workspace)
        files = earlier_files.with_files(entries, frozenset())
        self.writer.batch.workspace = await self.blobs.put(files.dump())
        await self.writer.send()
        return tuple(
            {"name": path, "digest": digest, "size": size, "media_type": "application/json"}
            for path, (digest, size, _) in entries.items()
        )


def _key(result: Values) -> str:
    return f"{result['repeat']}:{result['id']}"
