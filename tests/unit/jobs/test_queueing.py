"""The reason why a job is queued, from its record and from what workers announce."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from support.jobs.job_examples import NOW, claimed, queued

from jobs.model.record import GraphFormat, Wait
from jobs.view.queueing import FleetState, QueueReason, explain_queued

READY = {
    "id": "host:1:a", "slots": 2, "graph": {"reads": [1, 2]}, "sandbox": {"works": True},
    "storage": {"works": True}, "default_model": {"works": True},
}  # fmt: skip
BROKEN = {**READY, "sandbox": {"works": False, "why": "bwrap: /host/secret"}}
NO_STORAGE = {**READY, "storage": {"works": False, "why": "http://minio.internal:9000"}}
OLD = {"id": "host:2:b"}
"""A worker of an early release does not announce these fields."""
RESTING = replace(queued(), due_at=NOW + 60_000, hints=0, wait=Wait("groq", "429"))
BEGUN = replace(queued(), graph=GraphFormat(9, "2.0"))
CASES = [
    (RESTING, FleetState([READY], 0), "rests", "waits for groq, until its next try"),
    (replace(RESTING, wait=None), FleetState([], 0), "rests", "waits until its next try"),
    (replace(RESTING, due_at=NOW), FleetState([], 0), "no_worker", "no worker is running"),
    (queued(), FleetState([], 0), "no_worker", "no worker is running"),
    (queued(), FleetState([BROKEN, BROKEN], 0), "broken_workers", "sandbox out of order"),
    (queued(), FleetState([BROKEN, NO_STORAGE], 0), "broken_workers", "artifact store, sandbox"),
    (BEGUN, FleetState([READY, BROKEN], 0), "other_release", "begun by another release"),
    (queued(), FleetState([READY, BROKEN], 2), "busy", "2 jobs run, 2 can"),
    (queued(), FleetState([READY, READY], 2), "next", "a worker takes it next"),
    (queued(), FleetState([OLD], 0), "next", "a worker takes it next"),
    (queued(), FleetState([], 0, line_head="0" * 20), "in_line", f"job {'0' * 20} of its"),
    (queued(), FleetState([], 0, line_head=queued().id), "no_worker", "no worker is running"),
]


@pytest.mark.parametrize(("record", "fleet", "reason", "text"), CASES)
def test_the_first_reason_that_applies_is_named(record, fleet, reason, text):
    explanation = explain_queued(record, fleet, NOW)
    assert explanation["reason"] == reason
    assert text in explanation["text"]
    assert "secret" not in explanation["text"]
    assert "internal" not in explanation["text"]


def test_a_job_that_a_worker_could_take_has_a_place_in_the_queue():
    busy, text = FleetState([READY], 2, place=1_200), "place 1,200 in the queue of your tenant"
    explanation = explain_queued(queued(), busy, NOW)
    assert explanation["place"] == 1_200
    assert explanation["text"].endswith(text)
    behind = replace(busy, line_head="0" * 20)
    for record, fleet in ((RESTING, busy), (queued(), behind), (queued(), FleetState([], 0))):
        explanation = explain_queued(record, fleet, NOW)
        assert explanation["place"] is None
        assert "place" not in explanation["text"]


def test_every_reason_has_a_case():
    assert {reason for _, _, reason, _ in CASES} == set(get_args(QueueReason))


def test_a_job_that_is_not_queued_has_no_reason():
    assert explain_queued(claimed(queued()), FleetState([], 0), NOW) is None
