"""Conversations: jobs of which each continues the one before."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from api import problems
from api.auth.caller import Reader
from api.http.answers import as_json
from api.openapi import responses
from api.schemas import patterns
from api.schemas.outcome import Conversation, ConversationList, ConversationSummary, Outcome
from api.services import ServicesDep
from api.threads import find_conversation, load_jobs
from jobs.view.job import format_time
from jobs.view.outcome import outcome_of

router = APIRouter(tags=["jobs"])

Limit = Annotated[int, Query(ge=1, le=50)]
Offset = Annotated[int, Query(ge=0, le=1_000_000_000)]


@router.get(
    "/conversations",
    operation_id="list_conversations",
    response_model=ConversationList,
    summary="List conversations, the latest begun first",
    responses=responses(),
)
async def listing(
    services: ServicesDep, caller: Reader, limit: Limit = 20, offset: Offset = 0
) -> Response:
    """A page of your tenant's conversations. Each task that follows up no other begins one, which
    is listed until its first job is removed."""
    store, tenant = services.store, caller.tenant
    page = await store.page(tenant, limit=limit, offset=offset, conversations="")
    newest = await asyncio.gather(
        *(store.page(tenant, limit=1, offset=0, conversation=first.id) for first in page.records)
    )
    conversations = [
        ConversationSummary(
            id=first.id,
            task=first.spec.task,
            created_at=format_time(first.created_at),
            jobs=jobs.total,
            last_job=jobs.records[0].id,
            last_status=jobs.records[0].status,
        )
        for first, jobs in zip(page.records, newest, strict=True)
        if jobs.records  # else it was removed meanwhile
    ]
    return as_json(
        ConversationList(conversations=conversations, total=page.total, limit=limit, offset=offset)
    )


@router.get(
    "/conversations/{conversation_id}",
    operation_id="read_conversation",
    response_model=Conversation,
    summary="Read a conversation",
    responses=responses(problems.NOT_FOUND),
)
async def read(
    conversation_id: Annotated[str, Path(pattern=patterns.CONVERSATION)],
    services: ServicesDep,
    caller: Reader,
    limit: Limit = 20,
    offset: Offset = 0,
) -> Response:
    """Its jobs with their tasks, answers and verdicts: the newest `limit` jobs, in the order of
    their submission. Submit the next one with `conversation_id` to `POST /jobs`."""
    page = await find_conversation(services, caller, conversation_id, limit, offset)
    jobs = [Outcome(**outcome_of(job)) for job in await load_jobs(services, page.records[::-1])]
    return as_json(
        Conversation(id=conversation_id, jobs=jobs, total=page.total, limit=limit, offset=offset)
    )
