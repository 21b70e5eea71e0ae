"""Reviews: a person's decision, and the export of all decisions for audits."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import structlog
from fastapi import APIRouter, Query, Request, Response

from api import problems
from api.auth.caller import Overseer, Reviewer, own_keys
from api.http import body
from api.http.answers import as_json
from api.http.tables import as_csv
from api.line_comments import all_written
from api.openapi import as_table, body_responses, responses, with_body
from api.problems import Refused
from api.refusals import from_refusal
from api.schemas.job import JobReceipt
from api.schemas.problem import FieldError
from api.schemas.review import Decided, DecidedList, ReviewRequest
from api.services import Services, ServicesDep, find_job
from api.submission.job_requests import refuse
from api.submission.line_comments import on_lines
from api.submission.receipts import changed_answer
from jobs.model.credentials import Credential
from jobs.model.record import JobRecord
from jobs.model.review import Action, Decision, Review, ReviewKind
from jobs.model.review_digest import digest_of
from jobs.store import Loaded, decisions
from jobs.transitions.lifecycle import Refusal
from jobs.view.job import format_time

MOST = 1_000
"""Decisions in one part of the export."""

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
async def decide(
    job_id: str, request: Request, services: ServicesDep, caller: Reviewer
) -> Response:
    """Decide on the open review, once. The key's name is recorded as the author.

    Name the review that you read by its `id` and `digest`: where another is open by now, the answer
    is a 409 with that one's, and nothing is decided. Where a review takes two approvals, the first
    is recorded and the review stays open.

    Where the payload says `paused`, the work is not finished: `revise` lets it go on, with or
    without feedback.

    `comments` go with `revise`, each on a line that the review's patch shows; the model gets them
    with the lines around. In the payload of the next review each has `outdated`: whether its line
    is no longer as it was.

    Work that is not verified can be approved; that is recorded as an override. A review of kind
    `upgrade` takes `approve` (start the job over), `delegate` (leave it to a worker that can read
    its checkpoint) and `reject`. One of kind `questions` takes `answer` and `reject`.
    """
    loaded = await find_job(services, caller, job_id)
    asked, _ = await body.read(request, ReviewRequest, services.settings)
    decided = await settle(services, caller, loaded, asked)
    return changed_answer(decided)


async def settle(
    services: Services, caller: Credential, loaded: Loaded, asked: ReviewRequest
) -> JobRecord:
    """Apply a decision to the job's open review. Raises Refused: 403, 409, 422."""
    job_id = loaded.record.id
    review = _open_review(loaded.record)
    said = asked.feedback.strip() or asked.comments or review.paused
    if asked.action is Action.REVISE and not said:
        refuse([FieldError(field="feedback", message="revise needs feedback or comments")])
    delegates = review.kind is ReviewKind.REVIEW and asked.action is Action.DELEGATE
    if delegates and loaded.record.spec.deliver and services.settings.deliver_needs_review:
        detail = (
            "this deployment delivers only what a person has approved: the critic cannot decide"
        )
        raise Refused(problems.NOT_OFFERED, detail)
    named = asked.review_id in (None, review.id) and asked.digest in (None, digest_of(review))
    judges = review.kind is ReviewKind.REVIEW and asked.action is Action.APPROVE
    override = judges and not review.proven
    decision = Decision(
        review_id=asked.review_id or review.id,
        action=asked.action,
        by=caller.name,
        feedback=asked.feedback,
        code=asked.code,
        override=override,
        key_id=caller.id,
        person=caller.person,
        digest=asked.digest or "",
        answers=tuple(asked.answers),
        comments=await on_lines(services.blobs, review, asked.comments if named else ()),
    )
    same_person = await own_keys(services, caller)
    decided = await services.operations.decide(job_id, decision, loaded, same_person)
    if isinstance(decided, Refusal):
        raise from_refusal(decided, **await _open_instead(services, job_id, decided, decision))
    log.info("review decided", job_id=job_id, action=asked.action, override=override)
    return decided


async def _open_instead(
    services: Services, job_id: str, refusal: Refusal, decision: Decision
) -> dict[str, Any]:
    """The id and digest of the open review, and the past decision on the one that was named."""
    if refusal.code not in ("stale_review", "no_open_review"):
        return {}
    loaded = await services.store.load(job_id)
    if loaded is None:
        return {}
    if (review := loaded.record.review) is None:
        return _last_decision(loaded.record)
    shown = {"review_id": review.id, "digest": digest_of(review)}
    if review.id == decision.review_id:
        return shown
    decided = (f.data for f in await services.store.events(job_id) if f.kind == "decided")
    was = next((data for data in decided if data["review_id"] == decision.review_id), None)
    known = ("review_id", "action", "by")
    return {**shown, "decision": {name: was[name] for name in known}} if was else shown


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


@router.get(
    "/decisions",
    operation_id="list_decisions",
    response_model=DecidedList,
    summary="Export decisions",
    responses={**as_table("JSON or CSV, by `format`", "X-Total-Count"), **responses()},
)
async def listing(
    services: ServicesDep,
    caller: Overseer,
    *,
    start: Annotated[datetime | None, Query(alias="from", description="inclusive")] = None,
    end: Annotated[datetime | None, Query(alias="to", description="exclusive; else now")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = MOST,
    offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
    form: Annotated[Literal["json", "csv"], Query(alias="format")] = "json",
) -> Response:
    """The decisions on your tenant's jobs, oldest first, by the time of their event.

    Times without an offset are UTC. `total`, or the header X-Total-Count of a CSV, is the number of
    all decisions. They are deleted with their jobs: export them before.
    """
    until = _ms(end) if end else await services.store.now() + 1
    found, total = await services.store.decisions.between(
        caller.tenant, _ms(start) if start else 0, until, limit=limit, offset=offset
    )
    rows = [decisions.row(each, format_time(each.event.at)) for each in found]
    if form == "csv":
        headers = {"X-Total-Count": str(total)}
        words = ({**row, "comments": all_written(row["comments"])} for row in rows)
        return as_csv("fettle-decisions", decisions.COLUMNS, words, headers)
    shown = [Decided(**row) for row in rows]
    return as_json(DecidedList(decisions=shown, total=total, limit=limit, offset=offset))


def _ms(time: datetime) -> int:
    known = time if time.tzinfo else time.replace(tzinfo=UTC)
    return int(known.timestamp() * 1000)
