"""Answers questions to the fleet: one worker takes each, and asks its models."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from typing import Any

import structlog
from langchain_core.messages import HumanMessage

from agents.models.call_context import calling
from agents.models.errors import ModelError
from agents.models.name import ModelName
from agents.models.pool import ModelPool
from agents.models.provider import ProviderModel
from agents.models.retry import RetryPolicy
from agents.models.streams import Chunk
from agents.spending.pricing import Prices, Usage
from jobs.errors import StoreUnavailable
from jobs.redis.channels import Question
from jobs.store.redis_store import RedisStore
from worker.context import WorkerContext

AGAIN_SECONDS = 1.0
CHECK_MODELS = "check_models"

log = structlog.get_logger("worker.background.model_check")


async def answer_forever(store: RedisStore, context: WorkerContext) -> None:
    """Take questions, each in a task of its own: a slow model holds up no other."""
    async with asyncio.TaskGroup() as under_way:
        while True:
            with contextlib.suppress(StoreUnavailable):
                async with store.rpc.questions() as messages:
                    while True:
                        if message := await messages.get():
                            under_way.create_task(_take(store, context, message))
            await asyncio.sleep(AGAIN_SECONDS)


async def _take(store: RedisStore, context: WorkerContext, message: str) -> None:
    with contextlib.suppress(StoreUnavailable):
        if (question := await store.rpc.take(message)) is not None:
            await store.rpc.answer(question, await _answer(question, context))


async def _answer(question: Question, context: WorkerContext) -> dict[str, Any]:
    if question.subject != CHECK_MODELS:  # of a newer release
        return {"error": f"this worker cannot answer {question.subject}"}
    try:
        found = await check(context.models, context.spending.prices, question.data["models"])
    except Exception as error:
        log.error("models could not be checked", exc_info=error)
        return {"error": f"{type(error).__name__}: {error}"}
    return {"checked": found}


QUESTION = "Answer with the one word: ready"
PATIENCE = RetryPolicy(retries=0, total_seconds=30.0)
"""One try: a check shows what a job would meet."""


async def check(pool: ModelPool, prices: Prices, names: Sequence[str]) -> list[dict[str, Any]]:
    """One result a model, in order: {name, ok, error, seconds, first_token_seconds, input_tokens,
    output_tokens, cost_usd}. What is not known is null.
    """
    return list(await asyncio.gather(*(_checked(pool, prices, text) for text in names)))


async def _checked(pool: ModelPool, prices: Prices, text: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        **dict.fromkeys(("error", "seconds", "first_token_seconds", "cost_usd")),
        **dict.fromkeys(("input_tokens", "output_tokens")),
        "name": text,
        "ok": False,
    }
    begun = time.monotonic()
    try:
        name = ModelName.parse(text)
        model = pool.get(name, "summary")
        begun = time.monotonic()  # after the import of its library, which happens once
        ear = _Ear(begun)
        if not isinstance(model, ProviderModel):
            return {**result, "ok": True, "cost_usd": "0"}  # a recording: it is there
        with calling(listener=ear):
            reply = await model.model_copy(update={"retry_policy": PATIENCE}).ainvoke(
                [HumanMessage(QUESTION)]
            )
    except ModelError as error:
        log.info("model does not answer", model=text, error=str(error))
        return {**result, "error": str(error), "seconds": round(time.monotonic() - begun, 3)}
    usage = Usage.of(reply)
    cost = prices.of(name, usage)
    return {
        **result,
        "ok": True,
        "seconds": round(time.monotonic() - begun, 3),
        "first_token_seconds": ear.first,
        "input_tokens": usage.input_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "cost_usd": None if cost is None else format(cost, "f"),
    }


class _Ear:
    """Implements Listener: notes when the first token came."""

    def __init__(self, begun: float) -> None:
        self._begun = begun
        self.first: float | None = None

    def begin(self) -> None:
        """There is one try."""

    def receive(self, chunks: Sequence[Chunk]) -> None:
        if self.first is None and chunks:
            self.first = round(time.monotonic() - self._begun, 3)

    def end(self) -> None:
        """Nothing is passed on."""
