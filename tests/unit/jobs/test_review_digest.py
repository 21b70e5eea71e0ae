"""The fields that the digest of a decision covers, and the fields that it omits."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.jobs.job_examples import claimed, queued
from support.jobs.job_strategies import reviews

from jobs.model.codec import read_record, record_fields
from jobs.model.review import Review, ReviewKind
from jobs.model.review_digest import digest_review

RUN = {
    "id": "r1",
    "number": 1,
    "seconds": 0.2,
    "code": {"text": "print(1)", "dropped_bytes": 0, "digest": None},
    "end": "exited",
    "exit_code": 0,
    "signal": None,
    "stdout": {"text": "1\n", "dropped_bytes": 0, "digest": None},
    "stderr": {"text": "", "dropped_bytes": 0, "digest": None},
}
PLOT = {"name": "plot.png", "digest": "ab", "size": 2, "media_type": "image/png"}
SAID = "8225bcf061b6285433eca6e70ad57e1bb016dddeee4fa70e389a85cd03cda476"
DATA = {"name": "data.csv", "digest": "cd", "size": 3, "media_type": "text/csv"}
PAYLOAD = {
    "plan": ["one"],
    "answer": "1",
    "code": "print(1)",
    "runs": [RUN],
    "artifacts": [PLOT, DATA],
    "critiques": [],
    "decisions": [],
    "revision": 1,
}


def digest_of_payload(payload, kind=ReviewKind.REVIEW) -> str:
    return digest_review(Review("r1", kind, payload, 1))


@pytest.mark.parametrize(
    "changed",
    [
        {"code": "print(2)"},
        {"runs": [{**RUN, "stdout": {**RUN["stdout"], "text": "2\n"}}]},
        {"runs": [{**RUN, "exit_code": 1}]},
        {"runs": []},
        {"runs": [{**RUN, "workspace": "ef"}]},
        {"artifacts": [{**PLOT, "digest": "ac"}, DATA]},
        {"checks": {"passed": False}},
        {"verification": {"holds": False}},
        {"patch": {"digest": "ab", "base": "cd"}},
    ],
)
def test_each_approved_field_changes_the_digest(changed):
    assert digest_of_payload({**PAYLOAD, **changed}) != digest_of_payload(PAYLOAD)


@pytest.mark.parametrize(
    "changed",
    [
        {"plan": ["another"]},
        {"artifacts": [DATA, PLOT]},
        {"runs": [{**RUN, "seconds": 9.9}]},
        dict(reversed(PAYLOAD.items())),
    ],
)
def test_the_origin_of_the_work_does_not_change_the_digest(changed):
    assert digest_of_payload({**PAYLOAD, **changed}) == digest_of_payload(PAYLOAD)


def test_the_digest_has_64_hexadecimal_digits_and_is_stable_over_releases():
    assert digest_of_payload(PAYLOAD) == SAID, "a released digest never changes"


@given(reviews, st.text(st.characters(categories=["Cs"]), min_size=1, max_size=3))
def test_the_digest_of_a_stored_review_is_unchanged(review, half):
    """A review from the store has the digest that was shown, even with lone surrogates."""
    review = replace(review, payload={**review.payload, "code": half, "artifacts": [PLOT]})
    record = replace(claimed(queued()), review=review)
    stored_review = read_record(record_fields(record, new=True)).review
    assert digest_review(stored_review) == digest_review(review)
    assert digest_review(
        replace(stored_review, payload=json.loads(json.dumps(stored_review.payload)))
    ) == digest_review(stored_review)
