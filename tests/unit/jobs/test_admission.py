"""When a new job is refused."""

from __future__ import annotations

import pytest

from jobs.queue.admission import QUEUE_FULL, STORE_FULL, AdmissionLimits, SystemLoad, refusal


@pytest.mark.parametrize(
    ("load", "code"),
    [
        (SystemLoad(0, 0, 0), None),
        (SystemLoad(84, 100, 9), None),
        (SystemLoad(85, 100, 9), STORE_FULL),
        (SystemLoad(200, 100, 99), STORE_FULL),
        (SystemLoad(10**12, 0, 9), None),
        (SystemLoad(0, 100, 10), QUEUE_FULL),
    ],
)
def test_a_job_is_refused_where_memory_or_queue_is_full(load, code):
    refused = refusal(load, AdmissionLimits(0.85, 10))
    assert (refused.code if refused else None) == code
