"""Review: a person's decision."""

from __future__ import annotations

from typing import Any

import structlog
from fastapi import APIRouter, Request, Response

from api import problems
from api.auth.caller import Reviewer
from api.http import body
from api.openapi import body_responses, with_body
from api.problems import Refused
from api.refusals import from_refusal
from api.routes.found import found
from api.routes.jobs import changed_answer
from api.schemas.job import JobReceipt
from api.schemas.review import ReviewRequest
from api.services import Services, ServicesDep
from jobs.credentials import Credential
from jobs.evidence import proven
from jobs.lifecycle import Refusal
from jobs.record import JobRecord
from jobs.review import Action, Decision, Review, ReviewKind
from jobs.review_digest import digest_of
from jobs.store import Loaded

log = structlog.get_logger(__name__)
router = APIRouter(tags=["review"])


@router.post(
    "/jobs/{job_id}/review",
    operation_id="decide_review",
    status_code=202,
    response_model=JobReceipt,
    summary="Decide on a review",
    responses=body_responses(
        problems.NOT_FOUND,
        problems.NO_OPEN_REVIEW,
        problems.STALE_REVIEW,
        problems.OWN_APPROVAL,
        problems.VOTED_ALREADY,
        problems.NOT_OFFERED,
        problems.WRONG_STATE,
    ),
    openapi_extra=with_body(ReviewRequest),
)
async def decide(job_id: str, request: Request, house: ServicesDep, caller: Reviewer) -> Response:
    """Answer the open review, once. The key's name is on record as the author.

    Name what you looked at, by the review's `id` and `digest`: where another is open by now, the
    answer is 409 with that one's, and nothing was decided. Where a review takes two approvals, the
    first is kept on it, and it stays open.

    Approving what is not verified is possible, and recorded as an override. A review of kind
    `upgrade` takes `approve` (begin the job anew), `delegate` (leave it to a worker that can read
    its checkpoint) and `reject`; one of kind `questions` takes `answer` and `reject`.
    """
    loaded = await found(house, caller, job_id)
    asked, _ = await body.read(request, ReviewRequest, house.settings)
    decided = await settle(house, caller, loaded, asked)
    return changed_answer(decided)


async def settle(
    house: Services, caller: Credential, loaded: Loaded, asked: ReviewRequest
) -> JobRecord:
    """Apply what was asked to the job's open review. Raises Refused: 403, 409."""
    job_id = loaded.record.id
    review = _open_review(loaded.record)
    judges = review.kind is ReviewKind.REVIEW and asked.action is Action.APPROVE
    override = judges and not proven(review, await house.store.events(job_id))
    decision = Decision(
        review_id=asked.review_id or review.id,
        action=asked.action,
        by=caller.name,
        feedback=asked.feedback,
        code=asked.code,
        override=override,
        key_id=caller.id,
        digest=asked.digest or "",
        answers=tuple(asked.answers),
    )
    decided = await house.operations.decide(job_id, decision, loaded)
    if isinstance(decided, Refusal):
        raise from_refusal(decided, **await _what_is_open(house, job_id, decided, decision))
    log.info("review decided", job_id=job_id, action=asked.action, override=override)
    return decided


async def _what_is_open(
    house: Services, job_id: str, refusal: Refusal, decision: Decision
) -> dict[str, Any]:
    """What a decision would have to name, where it named something else; and what was decided on
    that, if anything was."""
    if refusal.code not in ("stale_review", "no_open_review"):
        return {}
    loaded = await house.store.load(job_id)
    if loaded is None:
        return {}
    if (review := loaded.record.review) is None:
        return _last_decision(loaded.record)
    told = {"review_id": review.id, "digest": digest_of(review)}
    if review.id == decision.review_id:
        return told
    said = (f.data for f in await house.store.events(job_id) if f.kind == "decided")
    was = next((data for data in said if data["review_id"] == decision.review_id), None)
    known = ("review_id", "action", "by")
    return {**told, "decision": {name: was[name] for name in known}} if was else told


def _last_decision(record: JobRecord) -> dict[str, Any]:
    last = record.decision
    if last is None:
        return {}
    return {"decision": {"review_id": last.review_id, "action": str(last.action), "by": last.by}}


def _open_review(record: JobRecord) -> Review:
    if record.review is None:
        detail = f"no review is open: the job is {record.status}"
        more = {"state": str(record.status), **_last_decision(record)}
        raise Refused(problems.NO_OPEN_REVIEW, detail, more)
    return record.review
