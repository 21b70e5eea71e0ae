"""Answers to a change: its receipt, and the key by which a change is made once.

Why: docs/decisions/0032-changes-answer-with-a-receipt.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import Header, Response

from api.http import links
from api.http.answers import as_json
from api.schemas import patterns
from api.schemas.job import JobReceipt
from jobs.model.record import JobRecord
from jobs.service import Submitted

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        pattern=patterns.IDEMPOTENCY_KEY,
        description="makes a repeated request safe: the same key and body give the same job",
    ),
]


def submitted_answer(submitted: Submitted) -> Response:
    """202 with the new job, or with the job that its Idempotency-Key belongs to."""
    headers = {"Location": f"/jobs/{submitted.record.id}"}
    if not submitted.new:
        headers["Idempotency-Replayed"] = "true"
    return changed_answer(submitted.record, 202, headers)


def changed_answer(
    record: JobRecord, status: int = 202, headers: Mapping[str, str] | None = None
) -> Response:
    """The receipt of a change.

    It has no more than a key without `read` may see, and needs no further answer of Redis: the
    change is durable even where Redis does not answer any more.
    """
    receipt = JobReceipt(
        id=record.id,
        kind=record.spec.kind,
        status=record.status,
        version=record.version,
        links=links.job(record.id),
    )
    return as_json(receipt, status, headers)
