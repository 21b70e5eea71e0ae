"""Every way to say no: a closed catalogue of RFC 9457 problems, and the exception that says one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import Response

from api.schemas.problem import Problem, ProblemKind

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Kind:
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

    def explained(self) -> ProblemKind:
        """The entry as it goes over the wire."""
        return ProblemKind(
            type=self.type,
            title=self.title,
            status=self.status,
            retryable=self.retryable,
            explanation=self.explanation,
        )


BAD_REQUEST = Kind(
    "bad-request",
    400,
    "The request cannot be read",
    "The request breaks HTTP's own rules, or its body ended before its announced length.",
)
UNAUTHORIZED = Kind(
    "unauthorized",
    401,
    "No valid API key",
    "Every call but /healthz, /readyz, /metrics and the documentation wants a key in the header "
    "X-API-Key. This one had none, or one that is unknown or revoked.",
)
FORBIDDEN = Kind(
    "forbidden",
    403,
    "The key may not do this",
    "The key is good but lacks the scope that `scope` names, or does not govern that tenant. "
    "An admin can make another key with it.",
)
NOT_FOUND = Kind(
    "not-found",
    404,
    "There is no such thing",
    "No job, file, artifact, run, key or page has this name, or it belongs to another tenant.",
)
METHOD_NOT_ALLOWED = Kind(
    "method-not-allowed",
    405,
    "This method is not offered here",
    "The path exists, but not with this method; the header Allow lists those that do.",
)
WRONG_STATE = Kind(
    "wrong-state",
    409,
    "The job is in another state",
    "What was asked does not apply to the job's present status, which `state` names.",
)
NO_OPEN_REVIEW = Kind(
    "no-open-review",
    409,
    "The job waits for no review",
    "A decision applies only while a review is open. The job is in the status that `state` names; "
    "perhaps it was cancelled, or somebody else has decided: then `decision` says what, and who.",
)
STALE_REVIEW = Kind(
    "stale-review",
    409,
    "Another review is open",
    "The decision named a review that is not the open one, or a digest of something else than it "
    "shows. `review_id` and `digest` are those of the open one: look at it before deciding again. "
    "`decision` says what was decided on the one that it named, and who did.",
)
OWN_APPROVAL = Kind(
    "own-approval",
    403,
    "Somebody else has to approve this",
    "The review takes two approvals, and you brought the job. Two other people approve it; you may "
    "send it back, edit its code or reject it.",
)
VOTED_ALREADY = Kind(
    "voted-already",
    409,
    "You have approved this already",
    "The review takes two approvals, each of another person. Yours is on record.",
)
NOT_OFFERED = Kind(
    "decision-not-offered",
    409,
    "This review does not take that decision",
    "A review of kind upgrade asks what to do with a job whose checkpoint no worker here can read. "
    "It takes approve (start over), delegate (leave it to a worker that reads it) and reject.",
)
CONFIGURED_KEY = Kind(
    "configured-key",
    409,
    "This key is not on record",
    "The key comes from FETTLE_API_KEY (or is development's): take it away there.",
)
NAME_TAKEN = Kind(
    "name-taken",
    409,
    "Another key has this name",
    "A key's name signs decisions, so no two active keys of a tenant have the same. Choose another "
    "name, or revoke the key that has it.",
)
TOO_SLOW = Kind(
    "body-too-slow",
    408,
    "The body did not come in time",
    "The body has to be here within `limit` seconds of its headers. Nothing was done.",
    retryable=True,
)
TOO_LARGE = Kind(
    "body-too-large",
    413,
    "The body is too large",
    "The body has more bytes than `limit`. It was not read. Files of a job count apart from the "
    "rest of its body.",
)
MEDIA_TYPE_REFUSED = Kind(
    "unsupported-media-type",
    415,
    "The body is not JSON",
    "Bodies are JSON; send them with Content-Type: application/json.",
)
INVALID = Kind(
    "invalid-request",
    422,
    "The request is not valid",
    "Something in the body, the path, the query or a header breaks a rule. `errors` lists each "
    "field with what is wrong and, where there is one, the limit.",
)
KEY_REUSED = Kind(
    "idempotency-key-reused",
    422,
    "This Idempotency-Key stands for another job",
    "The same Idempotency-Key stands for one job. Send the same body to get that job again as long "
    "as it is kept, or another key for another job. A key is remembered for as long as its job.",
)
RATE_LIMITED = Kind(
    "rate-limited",
    429,
    "Too many requests",
    "The key has used up its requests for now. Wait for as many seconds as Retry-After says.",
    retryable=True,
)
TOO_MANY_WRONG_KEYS = Kind(
    "too-many-wrong-keys",
    429,
    "Too many wrong keys from this address",
    "The address has brought as many wrong keys as it may. It may try a key that was not good from "
    "there before after as many seconds as Retry-After says. Callers behind a proxy have addresses "
    "of their own only if the API trusts what the proxy says of them (FETTLE_FORWARDED_ALLOW_IPS).",
    retryable=True,
)
UNKNOWN_HOST = Kind(
    "unknown-host",
    421,
    "The service does not go by this name",
    "The Host header is neither a loopback name nor the address of the connection, nor a name that "
    "the operator has set. An operator adds the name to FETTLE_ALLOWED_HOSTS.",
)
TOO_MANY_SEARCHES = Kind(
    "too-many-searches",
    429,
    "Too many searches at the same time",
    "The key has as many searches under way as it may have. Lists with `text` or `waiting` are "
    "searches, and those with both `status` and `label`. Wait for an answer; other requests go on.",
    retryable=True,
)
SEARCHES_BUSY = Kind(
    "searches-busy",
    503,
    "Others are searching",
    "As many searches as this process does at the same time are under way. Ask again after as many "
    "seconds as Retry-After says; other requests go on.",
    retryable=True,
)
TOO_MANY_STREAMS = Kind(
    "too-many-streams",
    429,
    "Too many open event streams",
    "The key has as many event streams open as it may have. Close some, or ask with "
    "`Accept: application/json`.",
    retryable=True,
)
STREAMS_BUSY = Kind(
    "streams-busy",
    503,
    "Others follow their jobs",
    "As many event streams as this process serves are open. Ask again after as many seconds as "
    "Retry-After says, or with `Accept: application/json`.",
    retryable=True,
)
QUEUE_FULL = Kind(
    "queue-full",
    429,
    "Too many jobs wait already",
    "As many jobs as the operator allows wait for a worker. Nothing was accepted. Send it again "
    "after as many seconds as Retry-After says. Reading, reviewing and cancelling go on.",
    retryable=True,
)
STORE_FULL = Kind(
    "store-full",
    503,
    "The job record is full",
    "The job record's memory is full, or nearly, and what is left belongs to the jobs that were "
    "accepted. Nothing was written. An operator can give Redis more memory or keep finished jobs "
    "for a shorter time. Reading, reviewing and cancelling go on.",
    retryable=True,
)
INTERNAL = Kind(
    "internal",
    500,
    "Something broke on our side",
    "An unforeseen failure. The log has it under the request id that the answer carries.",
)
BYTES_MISSING = Kind(
    "bytes-missing",
    500,
    "The bytes are not in the artifact store",
    "The record names bytes that are not there. API and workers must share FETTLE_DATA_DIR.",
)
STORAGE_UNAVAILABLE = Kind(
    "storage-unavailable",
    503,
    "Files cannot be kept or read now",
    "The artifact store refused: its disk is full, FETTLE_DATA_DIR cannot be used, or the bucket "
    "does not answer. Nothing was "
    "accepted. An operator has to make room; the log says what is wrong.",
    retryable=True,
)
STORE_UNAVAILABLE = Kind(
    "store-unavailable",
    503,
    "The job record cannot be used now",
    "Redis did not answer in time, or it refuses writes: its disk is full, it is a replica, or its "
    "replicas are away; `detail` says which. Nothing was changed: send the request again.",
    retryable=True,
)
OUTCOME_UNKNOWN = Kind(
    "outcome-unknown",
    503,
    "It is not known whether this was done",
    "The job record did not answer in time, and the request may or may not have been carried out. "
    "Use the same Idempotency-Key: sent again with it, the request is answered with the job that "
    "it stands for, or accepted now. A cancel, a limit and a revocation can be sent again as they "
    "are, and so can a decision that names its review: a 409 says what was decided. Look before "
    "you send anything else again.",
    retryable=True,
)
CONTENDED = Kind(
    "contended",
    503,
    "The job kept changing",
    "Others changed the job at every try. Ask again.",
    retryable=True,
)
NOT_READY = Kind(
    "not-ready",
    503,
    "The service cannot take requests now",
    "What is missing stands in `missing`: Redis does not answer. Workers are not asked about here: "
    "see GET /system.",
    retryable=True,
)

KINDS: Mapping[str, Kind] = {
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
        NOT_OFFERED,
        CONFIGURED_KEY,
        NAME_TAKEN,
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


@dataclass(eq=False)
class Refused(Exception):
    """The request is answered with a problem: the root of this package's errors.

    `more` are further members of the problem, such as `state` or `errors`.
    """

    kind: Kind
    detail: str
    more: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind.name}: {self.detail}"


def response(refused: Refused, request_id: str) -> Response:
    """The answer that says it."""
    kind = refused.kind
    problem = Problem(
        type=kind.type,
        title=kind.title,
        status=kind.status,
        detail=refused.detail,
        retryable=kind.retryable,
        request_id=request_id,
        **refused.more,
    )
    return Response(
        problem.model_dump_json(exclude_unset=True),
        status_code=kind.status,
        headers=dict(refused.headers),
        media_type=MEDIA_TYPE,
    )
