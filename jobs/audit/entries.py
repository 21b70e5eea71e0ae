"""The entries of the audit log: an actor, the act, and its data. Pure.

See ADR 91.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from jobs.model import credentials
from jobs.model.credentials import OPERATOR, Credential, TenantLimits
from jobs.model.events import Event, NewEvent
from jobs.model.fleet import FleetChange
from jobs.model.record import JobRecord
from jobs.model.review import EXPIRY
from jobs.transitions.change import Change
from jobs.view.job import format_time


class EntryKind(StrEnum):
    """The kind of an act. An act on a review has the kind of its event."""

    VOTED = "voted"
    """A person gave the first of two approvals."""
    VOTE_WITHDRAWN = "vote_withdrawn"
    """A person took back a first approval."""
    DECIDED = "decided"
    """A person, or the expiry, closed a review. `override`: the approval overrode the evidence."""
    REVIEW_EXPIRED = "review_expired"
    REVIEW_ASSIGNED = "review_assigned"
    """A person claimed or released a review, or assigned it to a person."""
    JOB_CANCELLED = "cancelled"
    JOB_DELIVERED = "job_delivered"
    """A worker pushed a change to its repository."""
    MESSAGE_ADDED = "message_added"
    """A person sent a job a message, and is an author of its work since. Without the text."""
    LABELS_CHANGED = "labels_changed"
    """A person replaced the labels of a job, by which webhooks and review rules select jobs."""
    JOB_DELETED = "job_deleted"
    """A person deleted a job, or retention removed a job that a person had decided on. `decisions`
    keeps who decided on which digest."""
    KEY_CREATED = "key_created"
    KEY_REVOKED = "key_revoked"
    KEY_LIMITED = "key_limited"
    TENANT_LIMITED = "tenant_limited"
    WEBHOOK_CREATED = "webhook_created"
    WEBHOOK_DELETED = "webhook_deleted"
    FLEET_CHANGED = "fleet_changed"
    """The rules for all workers changed. In the log of the operator's tenant."""
    REVIEW_RULES_CHANGED = "review_rules_changed"
    """The review rules that change at run time. In the log of the operator's tenant."""
    LINK_CREATED = "sign_in_link_created"
    SIGNED_IN = "signed_in"
    SIGNED_OUT = "signed_out"
    HEAD_SIGNED = "head_signed"
    """The operator's key signed the newest entry of the log."""
    LOG_TRIMMED = "log_trimmed"
    """The retention of the log removed the entries up to `seq`, which has `hash`."""


EVENT_KINDS: frozenset[str] = frozenset(
    {
        EntryKind.VOTED,
        EntryKind.VOTE_WITHDRAWN,
        EntryKind.DECIDED,
        EntryKind.REVIEW_EXPIRED,
        EntryKind.REVIEW_ASSIGNED,
        EntryKind.JOB_CANCELLED,
        EntryKind.MESSAGE_ADDED,
    }
)
"""The kinds of a job's events that become entries."""
_ACTOR_FIELDS = frozenset({"by", "key_id", "person"})
_CONTENT_FIELDS = frozenset({"comments", "answers", "text"})
"""Fields of events that quote the work or its task. The work is deleted with its job."""
_DECISION_FIELDS = (
    *("action", "by", "person", "key_id"),
    *("digest", "evidence", "override", "feedback", "rules"),
)
"""The fields of a decision that a tombstone keeps."""


@dataclass(frozen=True, slots=True)
class Actor:
    """The key that acts, or a part of the service."""

    name: str
    """The name of the key. A part of the service has no `key_id`."""
    key_id: str = ""
    person: str = ""
    """The person of the key. '': unknown, or a part of the service."""

    @classmethod
    def of(cls, credential: Credential) -> Actor:
        """The holder of a key."""
        return cls(credential.name, credential.id, credential.person)


RETENTION = Actor(credentials.RETENTION)
WORKER = Actor(credentials.WORKER)


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry that is not sealed yet."""

    tenant: str
    """The tenant of the log."""
    kind: EntryKind
    actor: Actor
    data: Mapping[str, Any] = field(default_factory=dict)


def entries_of_change(change: Change) -> Iterator[NewEntry]:
    """The entries of a change of a job: acts on its review, its cancellation, its delivery."""
    after = change.after
    for event in change.events:
        if event.kind in EVENT_KINDS:
            yield _entry_of_event(after, event)
    delivery = after.result.delivery if after.result and after.status.final else None
    if delivery is not None and delivery.branch is not None:
        data = {
            "job_id": after.id,
            "branch": delivery.branch,
            "commit": delivery.commit,
            "pull_request": delivery.pull_request,
            "base": delivery.base,
            "approved_by": after.result.approved_by if after.result else None,
        }
        yield NewEntry(after.tenant, EntryKind.JOB_DELIVERED, WORKER, data)


def _entry_of_event(record: JobRecord, event: NewEvent) -> NewEntry:
    fields = event.data
    actor = Actor(
        fields.get("by") or EXPIRY, fields.get("key_id") or "", fields.get("person") or ""
    )
    left_out = _ACTOR_FIELDS | _CONTENT_FIELDS
    data = {name: value for name, value in fields.items() if name not in left_out}
    return NewEntry(record.tenant, EntryKind(event.kind), actor, {"job_id": record.id, **data})


def entry_of_labels(before: JobRecord, after: JobRecord, actor: Actor) -> NewEntry:
    """The entry of a change of a job's labels."""
    labels = {"labels": list(after.spec.labels), "before": list(before.spec.labels)}
    return NewEntry(after.tenant, EntryKind.LABELS_CHANGED, actor, {"job_id": after.id, **labels})


def entries_of_deletion(
    record: JobRecord, decisions: Sequence[Event], actor: Actor
) -> Iterator[NewEntry]:
    """The tombstone of a job; no entry, if retention removes a job without a person's decision."""
    if actor == RETENTION and not decisions:
        return
    data = {
        "job_id": record.id,
        "status": record.status,
        "submitted_by": record.submitted_by,
        "submitter": record.person,
        "approved_by": record.result.approved_by if record.result else None,
        "decisions": [
            {"at": format_time(event.at), "kind": event.kind}
            | {name: event.data[name] for name in _DECISION_FIELDS if name in event.data}
            for event in decisions
        ],
    }
    yield NewEntry(record.tenant, EntryKind.JOB_DELETED, actor, data)


def entry_of_new_key(key: Credential, person: str) -> NewEntry:
    """The entry of the creation of a key by a person."""
    data = {
        **_name_key(key),
        "person": key.person,
        "scopes": list(key.scopes),
        "expires_at": format_time(key.expires_at),
        **_name_limits(TenantLimits(key.max_cost_usd_per_day, key.max_tokens_per_day)),
    }
    creator = Actor(key.created_by, key.created_by_key, person)
    return NewEntry(key.tenant, EntryKind.KEY_CREATED, creator, data)


def entry_of_revocation(key: Credential, actor: Actor) -> NewEntry:
    """The entry of the revocation of a key."""
    return NewEntry(key.tenant, EntryKind.KEY_REVOKED, actor, _name_key(key))


def entry_of_key_limits(key: Credential, limits: TenantLimits, actor: Actor) -> NewEntry:
    """The entry of a change of a key's limits."""
    data = {**_name_key(key), **_name_limits(limits)}
    return NewEntry(key.tenant, EntryKind.KEY_LIMITED, actor, data)


def entry_of_tenant_limits(tenant: str, limits: TenantLimits, actor: Actor) -> NewEntry:
    """The entry of a change of a tenant's limits."""
    return NewEntry(tenant, EntryKind.TENANT_LIMITED, actor, _name_limits(limits))


def entry_of_fleet_change(change: FleetChange, person: str) -> NewEntry:
    """The entry of a change of the rules for all workers. `person`: '' for a worker."""
    data = {"version": change.version, "values": change.values}
    actor = Actor(change.by, change.key_id, person)
    return NewEntry(OPERATOR, EntryKind.FLEET_CHANGED, actor, data)


def entry_of_review_rules(before: str, digest: str, actor: Actor) -> NewEntry:
    """The entry of a change of the review rules: the digests of both texts; '': no rules."""
    data = {"before": before, "digest": digest}
    return NewEntry(OPERATOR, EntryKind.REVIEW_RULES_CHANGED, actor, data)


def _name_key(key: Credential) -> dict[str, Any]:
    return {"key_id": key.id, "name": key.name}


def _name_limits(limits: TenantLimits) -> dict[str, Any]:
    return {
        "max_cost_usd_per_day": limits.max_cost_usd_per_day,
        "max_tokens_per_day": limits.max_tokens_per_day,
    }
