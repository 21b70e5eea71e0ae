"""Hypothesis strategies for what `jobs` keeps."""

from __future__ import annotations

from hypothesis import strategies as st

from jobs.model.credentials import Person
from jobs.model.events import NewEvent
from jobs.model.graph_format import GraphFormat
from jobs.model.record import JobRecord, Lease, Reason, Result, Status
from jobs.model.review import Action, Approval, Decision, Review, ReviewKind
from jobs.model.spec import CheckSpec, JobSpec, Kind, OnExhausted, OnExpiry, Pause, Priority

texts = st.text(max_size=20)
"""Text without lone surrogates: what UTF-8 can carry."""
counts = st.integers(0, 2**40)
times = st.integers(1, 2**42)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
maybe_digests = st.none() | digests
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
data = st.dictionaries(texts, json_values, max_size=4)

specs = st.builds(
    JobSpec,
    task=texts,
    review=st.booleans(),
    model=st.none() | texts,
    steps=st.lists(texts, max_size=3).map(tuple),
    workspace=maybe_digests,
    conversation_id=st.none() | texts,
    max_revisions=counts,
    on_exhausted=st.sampled_from(OnExhausted),
    timeout_seconds=counts,
    priority=st.sampled_from(Priority),
    labels=st.lists(texts, max_size=3).map(tuple),
    review_expires_seconds=st.none() | counts,
    on_expiry=st.sampled_from(OnExpiry),
    approvals=st.integers(1, 2),
    kind=st.sampled_from(Kind),
    checks=st.none()
    | st.builds(
        CheckSpec,
        manifest=texts,
        paths=st.lists(texts, max_size=2).map(tuple),
        command=st.none() | texts,
        cases=st.lists(texts, max_size=2).map(tuple),
    ),
    write_tests=st.booleans(),
    questions=st.booleans(),
    parallel=st.booleans(),
    questions_expire_seconds=st.none() | counts,
    pause=st.sampled_from(Pause),
    review_remind_seconds=st.none() | counts,
    review_escalate_seconds=st.none() | counts,
)
approvals = st.builds(Approval, by=texts, key_id=texts, at=times, override=st.booleans())
reviews = st.builds(
    Review,
    id=texts,
    kind=st.sampled_from(ReviewKind),
    payload=data,
    opened_at=times,
    expires_at=st.none() | times,
    expired=st.booleans(),
    remind_at=st.none() | times,
    escalate_at=st.none() | times,
    approvals=st.lists(approvals, max_size=2).map(tuple),
)
decisions = st.builds(
    Decision,
    review_id=texts,
    action=st.sampled_from(Action),
    by=texts,
    feedback=texts,
    code=texts,
    override=st.booleans(),
    key_id=texts,
    digest=texts,
    answers=st.lists(texts, max_size=2).map(tuple),
)
results = st.builds(
    Result,
    answer=texts,
    approved_by=st.none() | texts,
    artifacts=st.lists(data, max_size=2).map(tuple),
    override=st.booleans(),
    checks=st.none() | data,
)
formats = st.builds(GraphFormat, number=st.integers(0, 99), release=st.sampled_from(["", "1.2.3"]))
events = st.builds(NewEvent, key=texts, kind=texts, data=data)


@st.composite
def records(draw) -> JobRecord:
    """A record in which the lease runs to the time when the job is due."""
    due_at = draw(times)
    lease = st.builds(Lease, worker=texts, until=st.just(due_at), alone=st.booleans())
    return draw(
        st.builds(
            JobRecord,
            id=texts,
            tenant=texts,
            spec=specs,
            conversation_id=texts,
            created_at=times,
            updated_at=times,
            due_at=st.just(due_at),
            status=st.sampled_from(Status),
            version=counts,
            epoch=counts,
            attempts=counts,
            crashes=counts,
            retries=counts,
            hints=counts,
            progress_epoch=counts,
            ran_ms=counts,
            lease=st.none() | lease,
            review=st.none() | reviews,
            decision=st.none() | decisions,
            workspace=maybe_digests,
            graph=st.none() | formats,
            claimed_at=st.none() | times,
            started_at=st.none() | times,
            finished_at=st.none() | times,
            reason=st.none() | st.sampled_from(Reason),
            detail=texts,
            result=st.none() | results,
            submitted_by=texts,
            request_id=texts,
            authors=st.lists(st.builds(Person, texts, texts), max_size=3).map(tuple),
            revisions=counts,
        )
    )
