"""Conversations: jobs of which each continues the one before."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from api import problems
from api.auth.caller import Reader
from api.http.answers import as_json
from api.listing import CursorText, JobFilters, list_jobs, read_cursor, read_page
from api.openapi import responses
from api.schemas import patterns
from api.schemas.job import JobList
from api.schemas.outcome import Conversation, Outcome
from api.services import ServicesDep
from api.threads import find_conversation, load_jobs

router = APIRouter(prefix="/conversations", tags=["jobs"])

ConversationId = Annotated[str, Path(pattern=patterns.CONVERSATION)]
Limit = Annotated[int, Query(ge=1, le=50)]
Offset = Annotated[int, Query(ge=0, le=1_000_000_000)]


@router.get(
    "",
    operation_id="list_conversations",
    response_model=JobList,
    summary="List conversations, the latest begun first",
    responses=responses(problems.TOO_MANY_SEARCHES, problems.SEARCHES_BUSY),
)
async def listing(
    services: ServicesDep,
    caller: Reader,
    filters: Annotated[JobFilters, Depends()],
    limit: Limit = 20,
    offset: Offset = 0,
    cursor: CursorText = None,
) -> Response:
    """The first job of each of your tenant's conversations. A task that follows up no other begins
    a conversation, and a conversation is listed until its first job is removed. The filters are
    those of `GET /jobs`, and hold for the first job."""
    after = read_cursor(cursor, offset)
    page = await read_page(
        services, caller, filters, limit, offset, after, first_of_conversations=True
    )
    return as_json(await list_jobs(services, page, limit, offset, after))


@router.get(
    "/{conversation_id}",
    operation_id="read_conversation",
    response_model=Conversation,
    summary="Read a conversation",
    responses=responses(problems.NOT_FOUND),
)
async def read(
    conversation_id: ConversationId,
    services: ServicesDep,
    caller: Reader,
    limit: Limit = 20,
    offset: Offset = 0,
) -> Response:
    """Its jobs with their tasks, answers and verdicts: the newest `limit` jobs, in the order of
    their submission. Submit the next one with `conversation_id` to `POST /jobs`."""
    page = await find_conversation(services, caller, conversation_id, limit, offset)
    jobs = [Outcome(**job["outcome"]) for job in await load_jobs(services, page.records[::-1])]
    return as_json(
        Conversation(id=conversation_id, jobs=jobs, total=page.total, limit=limit, offset=offset)
    )
