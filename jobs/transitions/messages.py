"""Messages of persons to a job that has not ended. Pure.

A message changes the task, as far as it goes. So its sender counts as an author of the work, like
the person who submitted the task (`jobs.transitions.reviews`). The record has one entry for each
message: `KEY:TEXT`, the digests of the Idempotency-Key and of the text, or an empty entry for a
message without a key.

See ADR 103.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from jobs.model.credentials import Signer
from jobs.model.events import Event, NewEvent
from jobs.model.record import JobRecord
from jobs.model.spec import JobKind
from jobs.transitions.change import Change, Refusal, next_version
from jobs.transitions.reviews import find_voter, list_authors, own_identity_keys

MAX_MESSAGES = 100
"""The most messages to a job: the request of each role repeats them."""
REPEATED = "repeated"
"""The code of the refusal of a message that is on record."""
ADDED = "message_added"


def add_message(
    record: JobRecord,
    now: int,
    *,
    text: str,
    signed: Mapping[str, str],
    entry: str = "",
    same_person: Mapping[str, str] | None = None,
) -> Change | Refusal:
    """Add a message. `signed`: the key that sends it, as `by`, `key_id` and `person`. `entry`: of
    `make_entry`, if the request has an Idempotency-Key. `same_person`: the identity keys that count
    as the person who sends it, as in `jobs.transitions.reviews.decide`."""
    if entry and entry in record.messages:
        return Refusal(REPEATED, "the message is on record", record.status)
    key = entry.partition(":")[0]
    if any(key and stored.startswith(f"{key}:") for stored in record.messages):
        return Refusal("key_reused", "another message to this job has used this Idempotency-Key")
    if record.spec.kind is not JobKind.TASK:
        detail = f"a job of kind {record.spec.kind} takes no messages: only a task does"
        return Refusal("takes_no_messages", detail, record.status)
    if record.status.final:
        detail = (
            "the job has ended: submit a follow-up instead, a job with the conversation_id "
            f"{record.conversation_id} (fettle run --conversation {record.conversation_id})"
        )
        return Refusal("final", detail, record.status)
    if (count := len(record.messages)) >= MAX_MESSAGES:
        detail = f"a job takes at most {MAX_MESSAGES} messages: cancel it and submit a new task"
        return Refusal("takes_no_messages", detail, record.status)
    sender = Signer(signed["by"], signed["key_id"])
    if same_person is None:
        same_person = own_identity_keys(sender, signed["person"])
    voter = find_voter(record.review, sender.name, same_person) if record.review else None
    if voter is not None:
        detail = (
            f"{voter} approved the work of the open review, and a message makes its sender an "
            "author of the work: withdraw the approval first, or ask another person to send the "
            "work back"
        )
        return Refusal("takes_no_messages", detail, record.status)
    further = () if sender in list_authors(record) else (sender,)
    after = next_version(
        record, now, messages=(*record.messages, entry), authors=(*record.authors, *further)
    )
    data = {"number": count + 1, **signed, "text": text}
    return Change(after, (_event_of(data),))


def with_messages(change: Change, events: Sequence[Event]) -> Change:
    """The creation of a job, with the messages to another job, which has these `events`."""
    added = tuple(_event_of(event.data) for event in events if event.kind == ADDED)
    record = replace(change.after, messages=("",) * len(added))
    return replace(change, after=record, events=(*change.events, *added))


def _event_of(data: Mapping[str, Any]) -> NewEvent:
    return NewEvent(f"message:{data['number']}", ADDED, data)


def make_entry(idempotency_key: str, text: str) -> str:
    """The entry of a message with an Idempotency-Key."""
    return f"{_digest(idempotency_key)}:{_digest(text)}"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]
