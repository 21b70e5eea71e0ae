"""Reviews: a person's decision, and the export of all decisions for audits."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import structlog
from fastapi import APIRouter, Query, Request, Response

from api import problems
from api.auth.caller import Overseer, Reviewer
from api.http.answers import as_csv, as_json, receipt
from api.http.body import read_json
from api.http.times import check_order, to_ms
from api.line_comments import write_comments
from api.listing import CursorText, read_cursor
from api.openapi import as_table, body_responses, responses, with_body
from api.schemas.job import JobReceipt
from api.schemas.review import ClaimRequest, Decided, DecidedList, ReviewRequest
from api.services import ServicesDep, find_job
from api.submission.decisions import apply_decision, claim_review
from jobs.store import decisions
from jobs.view.job import format_time

FILES_ADVICE = " as JSON: leave large files to a job of their own"
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
        problems.REVIEW_RULE,
        problems.OVERRIDE_NEEDED,
        problems.NOT_OFFERED,
        problems.WRONG_STATE,
    ),
    openapi_extra=with_body(ReviewRequest),
)
async def decide(
    job_id: str, request: Request, services: ServicesDep, caller: Reviewer
) -> Response:
    """Decide on the open review, once. The key's name is recorded as the author.

    Name the review that you read by its `id` and `digest`. If another review is open now, the
    answer is a 409 with its id and digest, and your decision does not apply. If a review takes two
    approvals, the first is recorded and the review stays open.

    If the payload has `paused`, the work is not finished: `revise` continues it, with or without
    feedback.

    `edit` changes the work itself: it writes `files`, then runs `code`, without a model. The
    verification runs over the edited files, and the review opens again. You become an author.

    `comments` go with `revise` and `edit`, each on a line that the review's patch shows; the model
    gets them with the lines around. In the payload of the next review, `outdated` says whether the
    line of a comment has changed. A comment may have a fenced block ```` ```suggestion ````, or
    ```` ```suggestion:-1+2 ```` for the lines around: `edit` puts it in place of the line.

    If the review's `verdict` has `needs_override`, an approval needs `override: true` and a remark
    in `feedback`. Otherwise, the answer is a 409 with the reason. As long as a second approval is
    missing, `withdraw` takes back the first.

    A review of kind `upgrade` takes `approve` (start the job over), `delegate` (leave it to a
    worker that can read its checkpoint) and `reject`. A review of kind `questions` takes `answer`
    and `reject`.
    """
    loaded = await find_job(services, caller, job_id)
    decision, _ = await read_json(request, ReviewRequest, services.settings, FILES_ADVICE)
    return receipt(await apply_decision(services, caller, loaded, decision))


@router.post(
    "/jobs/{job_id}/review/claim",
    operation_id="claim_review",
    response_model=JobReceipt,
    summary="Claim, assign or release a review",
    responses=body_responses(problems.NOT_FOUND, problems.NO_OPEN_REVIEW),
    openapi_extra=with_body(ClaimRequest),
)
async def claim(job_id: str, request: Request, services: ServicesDep, caller: Reviewer) -> Response:
    """Say who looks after the review, so that two persons do not read the same work.

    It is no lock: any reviewer may decide. The person stays when the job pauses again.
    """
    await find_job(services, caller, job_id)
    claimed, _ = await read_json(request, ClaimRequest, services.settings)
    return receipt(await claim_review(services, caller, job_id, claimed), 200)


@router.get(
    "/decisions",
    operation_id="list_decisions",
    response_model=DecidedList,
    summary="Export decisions",
    responses={
        **as_table("JSON or CSV, by `format`", "X-Total-Count", "X-Next-Cursor"),
        **responses(),
    },
)
async def listing(
    services: ServicesDep,
    caller: Overseer,
    *,
    start: Annotated[datetime | None, Query(alias="from", description="inclusive")] = None,
    end: Annotated[datetime | None, Query(alias="to", description="exclusive; else now")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = MOST,
    offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
    cursor: CursorText = None,
    form: Annotated[Literal["json", "csv"], Query(alias="format")] = "json",
) -> Response:
    """The decisions on your tenant's jobs, oldest first, by the time of their event.

    Times without an offset are UTC. `total`, or the header X-Total-Count of a CSV, is the number of
    all decisions. They are deleted with their jobs; `GET /audit` keeps them longer.
    """
    check_order(start, end)
    until = to_ms(end) if end else await services.store.now() + 1
    after = read_cursor(cursor, offset)
    page, total, following = await services.store.decisions.between(
        caller.tenant, to_ms(start) if start else 0, until, limit=limit, offset=offset, cursor=after
    )
    rows = [decisions.decision_row(decision, format_time(decision.event.at)) for decision in page]
    if form == "csv":
        headers = {"X-Total-Count": str(total)}
        if following is not None:
            headers["X-Next-Cursor"] = str(following)
        csv_rows = ({**row, "comments": write_comments(row["comments"])} for row in rows)
        return as_csv("fettle-decisions", decisions.COLUMNS, csv_rows, headers)
    decided = [Decided(**row) for row in rows]
    return as_json(
        DecidedList(
            decisions=decided,
            total=total,
            limit=limit,
            offset=after.count if after else offset,
            next=following and str(following),
        )
    )
