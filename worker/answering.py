"""Answering questions: one worker takes each."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import structlog

from jobs.errors import StoreUnavailable
from jobs.store.channels import Question
from jobs.store.redis import RedisStore
from worker.check import check
from worker.equipment import Equipment

AGAIN_SECONDS = 1.0
CHECK_MODELS = "check_models"

log = structlog.get_logger("worker.answering")


async def answer_forever(store: RedisStore, equipment: Equipment) -> None:
    """Take questions, each in a task of its own: a slow model holds up no other."""
    async with asyncio.TaskGroup() as under_way:
        while True:
            with contextlib.suppress(StoreUnavailable):
                async with store.rpc.questions() as messages:
                    while True:
                        if message := await messages.get():
                            under_way.create_task(_take(store, equipment, message))
            await asyncio.sleep(AGAIN_SECONDS)


async def _take(store: RedisStore, equipment: Equipment, message: str) -> None:
    with contextlib.suppress(StoreUnavailable):
        if (question := await store.rpc.take(message)) is not None:
            await store.rpc.answer(question, await _answer(question, equipment))


async def _answer(question: Question, equipment: Equipment) -> dict[str, Any]:
    if question.subject != CHECK_MODELS:  # of a newer release
        return {"error": f"this worker cannot answer {question.subject}"}
    try:
        found = await check(equipment.models, equipment.spending.prices, question.data["models"])
    except Exception as error:
        log.error("models could not be checked", exc_info=error)
        return {"error": f"{type(error).__name__}: {error}"}
    return {"checked": found}
