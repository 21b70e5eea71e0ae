"""The closed catalogue of RFC 9457 problems, and the exception that carries one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import Response

from api.schemas.problem import Problem, ProblemKind

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class ProblemDefinition:
    """One entry of the catalogue."""

    name: str
    status: int
    title: str
    explanation: str
    retryable: bool = False

    @property
    def type(self) -> str:
        """A URI reference that can be followed."""
        return f"/problems/{self.name}"

    def to_schema(self) -> ProblemKind:
        """The entry as it goes over the wire."""
        return ProblemKind(
            type=self.type,
            title=self.title,
            status=self.status,
            retryable=self.retryable,
            explanation=self.explanation,
        )


BAD_REQUEST = ProblemDefinition(
    "bad-request",
    400,
    "The request cannot be read",
    "The request violates HTTP, or its body ended before its announced length.",
)
UNAUTHORIZED = ProblemDefinition(
    "unauthorized",
    401,
    "No valid API key",
    "Every call except /healthz, /readyz, /metrics and the documentation needs a key in the header "
    "X-API-Key, or as `Authorization: Bearer KEY`. This call had no key, two different keys, or a "
    "key that is unknown, revoked or expired.",
)
FORBIDDEN = ProblemDefinition(
    "forbidden",
    403,
    "The key may not do this",
    "The key is valid; `detail` gives the reason of the refusal. If the key lacks a scope, `scope` "
    "names it: an admin can create a key with this scope.",
)
NOT_FOUND = ProblemDefinition(
    "not-found",
    404,
    "Not found",
    "There is no job, file, artifact, run, key, audit log or page with this name, or it belongs to "
    "another tenant.",
)
METHOD_NOT_ALLOWED = ProblemDefinition(
    "method-not-allowed",
    405,
    "Method not allowed",
    "The path exists, but not with this method. The header Allow lists its methods.",
)
WRONG_STATE = ProblemDefinition(
    "wrong-state",
    409,
    "The job is in another state",
    "The request does not apply to the job's present status, which `state` names.",
)
NO_OPEN_REVIEW = ProblemDefinition(
    "no-open-review",
    409,
    "The job has no open review",
    "A decision applies only while a review is open. `state` names the job's status. If another "
    "person has decided, `decision` has that decision. The job may also have been cancelled.",
)
STALE_REVIEW = ProblemDefinition(
    "stale-review",
    409,
    "The open review is not the one that the decision names",
    "The decision named another review than the open review, or another digest. `review_id` and "
    "`digest` are those of the open review: read it before you decide again. `decision` has the "
    "decision on the review that was named, if there is such a decision.",
)
OWN_APPROVAL = ProblemDefinition(
    "own-approval",
    403,
    "Another person has to approve this",
    "Other persons than the authors have to approve this: the review takes two approvals, or a "
    "review rule of the operator applies. You submitted the job, or edited its code, or made a key "
    "of an author, or an author made your key. You may send it back, edit it or reject it.",
)
VOTED_ALREADY = ProblemDefinition(
    "voted-already",
    409,
    "You have approved this already",
    "The review takes two approvals by two people. Your approval is on record, perhaps by another "
    "of your keys.",
)
REVIEW_RULE = ProblemDefinition(
    "review-rule",
    403,
    "A review rule does not allow this approval",
    "The operator's review policy names the persons who may approve, or allows no override; "
    "`detail` names the rule. Ask one of these persons, or send the work back, or reject it.",
)
OVERRIDE_NEEDED = ProblemDefinition(
    "override-needed",
    409,
    "The evidence does not support an approval",
    "The verification or a check failed, or nothing ran; `detail` has the reason. To approve "
    "nevertheless, send `override: true` with a remark in `feedback`. The record then has an "
    "override.",
)
NOT_OFFERED = ProblemDefinition(
    "decision-not-offered",
    409,
    "This review does not take that decision",
    "The critic cannot decide for people: if two approvals are needed, or if the change is to be "
    "delivered and only a person may allow it. You can withdraw only your own approval. A review "
    "of kind upgrade is about a job whose checkpoint no worker here can read. It takes approve "
    "(start over), delegate (leave it to a worker that reads it) and reject.",
)
CONFIGURED_KEY = ProblemDefinition(
    "configured-key",
    409,
    "This key is not on record",
    "The key is set by FETTLE_API_KEY, or is the development key: change the setting instead.",
)
NAME_TAKEN = ProblemDefinition(
    "name-taken",
    409,
    "Another key has this name",
    "A key's name signs decisions, so each key of a tenant that is not revoked has a different "
    "name. Choose another name, or revoke the key that has this name.",
)
FLEET_CHANGED = ProblemDefinition(
    "fleet-changed",
    409,
    "Another change of the fleet came first",
    "A change of the fleet's settings names the version that it is based on, and `limit` has the "
    "present one. Read the settings, and send the change with it.",
)
REMOVES_JOBS = ProblemDefinition(
    "removes-jobs",
    409,
    "Finished jobs would be removed",
    "The new retention would remove finished jobs at once, forever; `limit` has their number. To "
    "confirm, send the change with this number as `accept_removal`.",
)
FLEET_UNREADABLE = ProblemDefinition(
    "fleet-unreadable",
    500,
    "The fleet's settings cannot be read",
    "The record fettle:fleet in Redis is damaged. Workers that run keep the last settings, and "
    "others do not start. Delete the key, then start a worker or set the settings again.",
)
RULES_CHANGED = ProblemDefinition(
    "review-rules-changed",
    409,
    "Another change of the review rules came first",
    "A change of the review rules names the digest of the text that it is based on. Read the "
    "rules, and send the change with the present digest.",
)
RULES_UNREADABLE = ProblemDefinition(
    "review-rules-unreadable",
    500,
    "The review rules cannot be read",
    "The rules that were set at run time are damaged, or a newer release wrote them. No job is "
    "accepted without its rules: send the rules again, or upgrade this release.",
)
TOO_SLOW = ProblemDefinition(
    "body-too-slow",
    408,
    "The body did not arrive in time",
    "The body has to arrive within `limit` seconds of its headers. The request was not carried "
    "out.",
    retryable=True,
)
TOO_LARGE = ProblemDefinition(
    "body-too-large",
    413,
    "The body is too large",
    "The body has more bytes than `limit`. It was not read. A job's files have a limit of their "
    "own, apart from the rest of the body.",
)
MEDIA_TYPE_REFUSED = ProblemDefinition(
    "unsupported-media-type",
    415,
    "The body is not JSON",
    "Bodies are JSON; send them with Content-Type: application/json.",
)
INVALID = ProblemDefinition(
    "invalid-request",
    422,
    "The request is not valid",
    "A value in the body, the path, the query or a header is not valid. `errors` lists each "
    "field with the reason and, where there is one, the limit.",
)
KEY_REUSED = ProblemDefinition(
    "idempotency-key-reused",
    422,
    "This Idempotency-Key belongs to another job",
    "An Idempotency-Key belongs to one job. Send the same body to get that job again, or another "
    "key to submit another job. Fettle stores a key as long as its job.",
)
RATE_LIMITED = ProblemDefinition(
    "rate-limited",
    429,
    "Too many requests",
    "The key has reached its rate limit. Wait for the seconds in Retry-After.",
    retryable=True,
)
TOO_MANY_WRONG_KEYS = ProblemDefinition(
    "too-many-wrong-keys",
    429,
    "Too many wrong keys from this address",
    "The address has reached its limit of wrong keys. After the seconds in Retry-After it may try "
    "a key that was not valid at this address before. Callers behind a proxy have separate "
    "addresses only if the API trusts the proxy's headers (FETTLE_FORWARDED_ALLOW_IPS).",
    retryable=True,
)
UNKNOWN_HOST = ProblemDefinition(
    "unknown-host",
    421,
    "The host name is not allowed",
    "The Host header is neither a loopback name nor the address of the connection, nor a name that "
    "the operator has set. An operator adds the name to FETTLE_ALLOWED_HOSTS.",
)
TOO_MANY_SEARCHES = ProblemDefinition(
    "too-many-searches",
    429,
    "Too many searches at the same time",
    "The key has reached its limit of concurrent searches. A list with `text` or `waiting` is a "
    "search, and so is one with both `status` and `label`. Wait for an answer; other requests are "
    "not affected.",
    retryable=True,
)
SEARCHES_BUSY = ProblemDefinition(
    "searches-busy",
    503,
    "The service has too many searches",
    "This process has reached its limit of concurrent searches. Send the request again after the "
    "seconds in Retry-After; other requests are not affected.",
    retryable=True,
)
TOO_MANY_STREAMS = ProblemDefinition(
    "too-many-streams",
    429,
    "Too many open event streams",
    "The key has reached its limit of open event streams. Close some, or ask with "
    "`Accept: application/json`.",
    retryable=True,
)
STREAMS_BUSY = ProblemDefinition(
    "streams-busy",
    503,
    "The service has too many open event streams",
    "This process has reached its limit of open event streams. Send the request again after the "
    "seconds in Retry-After, or with `Accept: application/json`.",
    retryable=True,
)
QUEUE_FULL = ProblemDefinition(
    "queue-full",
    429,
    "The queue is full",
    "The queue holds as many jobs as the operator allows. The request was not accepted. Send it "
    "again after the seconds in Retry-After. Reading, reviewing and cancelling still work.",
    retryable=True,
)
BUDGET_TAKEN = ProblemDefinition(
    "budget-taken",
    429,
    "The key's budget is taken",
    "The jobs of this API key have a daily budget, and those that are queued or running are "
    "expected to use the rest of it. The request was not accepted. Send it again when some of them "
    "have ended, after midnight UTC, or with a higher limit.",
    retryable=True,
)
STORE_FULL = ProblemDefinition(
    "store-full",
    503,
    "The job record is full",
    "The job record's memory is nearly full, and the rest is reserved for the jobs that were "
    "accepted. The request was not carried out. An operator can give Redis more memory, or keep "
    "finished jobs for a shorter time. Reading, reviewing and cancelling still work.",
    retryable=True,
)
INTERNAL = ProblemDefinition(
    "internal",
    500,
    "Internal error",
    "The request failed unexpectedly. The log has the failure under the request id of the answer.",
)
BYTES_MISSING = ProblemDefinition(
    "bytes-missing",
    500,
    "The bytes are not in the artifact store",
    "The record names bytes that are missing. API and workers must share FETTLE_DATA_DIR.",
)
STORAGE_UNAVAILABLE = ProblemDefinition(
    "storage-unavailable",
    503,
    "The artifact store is unavailable",
    "The disk is full, FETTLE_DATA_DIR cannot be used, or the bucket does not answer. The request "
    "was not accepted. An operator has to repair it; the log has the reason.",
    retryable=True,
)
STORE_UNAVAILABLE = ProblemDefinition(
    "store-unavailable",
    503,
    "The job record is unavailable",
    "Redis did not answer in time, or it refuses writes: its disk is full, it is a replica, or its "
    "replicas are away; `detail` has the reason. The request was not carried out: send it again.",
    retryable=True,
)
OUTCOME_UNKNOWN = ProblemDefinition(
    "outcome-unknown",
    503,
    "The outcome is unknown",
    "The job record did not answer in time, and the request may or may not have been carried out. "
    "Send it again with the same Idempotency-Key: the answer is the job that the key belongs to, "
    "or a new one. A cancel, a limit and a revocation can be sent again unchanged, and so can a "
    "decision that names its review: a 409 has the decision that was made. Read the state before "
    "you send anything else again.",
    retryable=True,
)
CONTENDED = ProblemDefinition(
    "contended",
    503,
    "The job kept changing",
    "Other requests changed the job at every try. Send the request again.",
    retryable=True,
)
NOT_READY = ProblemDefinition(
    "not-ready",
    503,
    "The service cannot take requests now",
    "`missing` lists the reasons: Redis takes no writes, or the artifact store fails. Workers are "
    "not checked here: see GET /system.",
    retryable=True,
)

KINDS: Mapping[str, ProblemDefinition] = {
    kind.name: kind
    for kind in (
        BAD_REQUEST,
        UNAUTHORIZED,
        FORBIDDEN,
        NOT_FOUND,
        METHOD_NOT_ALLOWED,
        WRONG_STATE,
        NO_OPEN_REVIEW,
        STALE_REVIEW,
        OWN_APPROVAL,
        VOTED_ALREADY,
        REVIEW_RULE,
        OVERRIDE_NEEDED,
        NOT_OFFERED,
        CONFIGURED_KEY,
        NAME_TAKEN,
        FLEET_CHANGED,
        REMOVES_JOBS,
        FLEET_UNREADABLE,
        RULES_CHANGED,
        RULES_UNREADABLE,
        TOO_SLOW,
        TOO_LARGE,
        MEDIA_TYPE_REFUSED,
        INVALID,
        KEY_REUSED,
        RATE_LIMITED,
        TOO_MANY_WRONG_KEYS,
        UNKNOWN_HOST,
        TOO_MANY_SEARCHES,
        SEARCHES_BUSY,
        TOO_MANY_STREAMS,
        STREAMS_BUSY,
        QUEUE_FULL,
        BUDGET_TAKEN,
        STORE_FULL,
        INTERNAL,
        BYTES_MISSING,
        STORAGE_UNAVAILABLE,
        STORE_UNAVAILABLE,
        OUTCOME_UNKNOWN,
        CONTENDED,
        NOT_READY,
    )
}
"""Every problem above, by name."""


@dataclass(eq=False)
class RefusedRequest(Exception):
    """The request is answered with a problem: the root of this package's errors.

    `more` holds further members of the problem, such as `state` or `errors`.
    """

    kind: ProblemDefinition
    detail: str
    more: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind.name}: {self.detail}"


def problem_of_refusal(refused: RefusedRequest, request_id: str) -> Problem:
    """The problem as it goes over the wire."""
    kind = refused.kind
    return Problem(
        type=kind.type,
        title=kind.title,
        status=kind.status,
        detail=refused.detail,
        retryable=kind.retryable,
        request_id=request_id,
        **refused.more,
    )


def problem_response(refused: RefusedRequest, request_id: str) -> Response:
    """The problem as an HTTP response."""
    return Response(
        problem_of_refusal(refused, request_id).model_dump_json(exclude_unset=True),
        status_code=refused.kind.status,
        headers=dict(refused.headers),
        media_type=MEDIA_TYPE,
    )
