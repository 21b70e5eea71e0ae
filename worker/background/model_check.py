"""Checks whether jobs can run with models, when the API asks: one worker takes each question."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any

import structlog
from langchain_core.messages import AIMessage
from typing_extensions import override

from agents.errors import ModelError
from agents.graph.trial import REQUIRED, StepResult, Trials, build_trials, run_trial
from agents.models.build import CallableModel
from agents.models.call_context import TokenListener
from agents.models.name import ModelName
from agents.models.provider import ProviderModel
from agents.models.role_models import RoleModels
from agents.models.streams import Chunk
from agents.models.transport.time_limits import RetryPolicy
from agents.ports.spending import Usage
from agents.spending.pricing import Prices
from jobs.errors import StoreUnavailable
from jobs.redis.channels import Inquiry
from jobs.store.redis_store import RedisStore
from worker.context import WorkerContext

AGAIN_SECONDS = 1.0
CHECK_MODELS = "check_models"

log = structlog.get_logger("worker.background.model_check")


async def answer_forever(store: RedisStore, context: WorkerContext) -> None:
    """Answer questions, each in a task of its own, so that a slow model delays no other answer."""
    async with asyncio.TaskGroup() as under_way:
        while True:
            with contextlib.suppress(StoreUnavailable):
                async with store.rpc.inquiries() as messages:
                    while True:
                        if message := await messages.get():
                            under_way.create_task(_take(store, context, message))
            await asyncio.sleep(AGAIN_SECONDS)


async def _take(store: RedisStore, context: WorkerContext, message: str) -> None:
    with contextlib.suppress(StoreUnavailable):
        if (question := await store.rpc.accept(message)) is not None:
            await store.rpc.answer(question, await _answer(question, context))


async def _answer(question: Inquiry, context: WorkerContext) -> dict[str, Any]:
    if question.subject != CHECK_MODELS:  # of a newer release
        return {"error": f"this worker cannot answer {question.subject}"}
    try:
        results = await check(context, question.data["models"])
    except Exception as error:
        log.error("models could not be checked", exc_info=error)
        return {"error": f"{type(error).__name__}: {error}"}
    return {"checked": results}


CHECK_SECONDS = 120.0
"""How long the check of one model may take; all models are checked at the same time."""
PATIENCE = RetryPolicy(retries=1, total_seconds=60.0)
"""The patience with each call of a check. A job tries longer."""
MOST_OUTPUT = 2_048
"""The limit on the output tokens of a reply: enough for a model that thinks first. Without a limit,
some weak models do not end their reply."""


async def check(context: WorkerContext, names: Sequence[str]) -> list[dict[str, Any]]:
    """Check each model; returns the results in the same order: {name, ok, error, steps, notes,
    seconds, first_token_seconds, input_tokens, output_tokens, cost_usd, context_tokens}. Unknown
    values are null.
    """
    trials = build_trials(context.tools.bodies)
    return list(await asyncio.gather(*(_checked(context, trials, name) for name in names)))


async def _checked(context: WorkerContext, trials: Trials, text: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        **dict.fromkeys(("error", "seconds", "first_token_seconds", "cost_usd")),
        **dict.fromkeys(("input_tokens", "output_tokens")),
        "name": text,
        "ok": False,
        "steps": [],
        "notes": [],
        "context_tokens": None,
    }
    try:
        name = ModelName.parse(text)
        model = context.models.pool.get(name, "executor")  # imports its library: takes seconds
    except ModelError as error:
        return {**result, "error": str(error)}
    if not isinstance(model, ProviderModel):
        return {**result, "ok": True, "cost_usd": "0"}  # a recording that exists
    started = time.monotonic()
    first_token = _FirstToken(started)
    models = _PatientModels.alone(context.models.pool, text)
    sandbox = context.runs.sandboxes.default
    trial = await run_trial(trials, models, sandbox, CHECK_SECONDS, first_token)
    failed = [step.error for step in trial.steps if step.error and step.step in REQUIRED]
    log.info("model checked", model=text, passed=trial.passed, errors=failed)
    return {
        **result,
        **_used(name, trial.replies, context.models.spending.prices),
        "ok": trial.passed,
        "error": failed[0] if failed else None,
        "steps": [_plain(step) for step in trial.steps],
        "notes": list(trial.notes()),
        "context_tokens": model.context,
        "seconds": round(time.monotonic() - started, 3),
        "first_token_seconds": first_token.seconds,
    }


def _plain(step: StepResult) -> dict[str, Any]:
    return {**asdict(step), "required": step.step in REQUIRED}


def _used(name: ModelName, replies: Sequence[AIMessage], prices: Prices) -> dict[str, Any]:
    """The tokens and the cost of all replies; null if the value of one reply is unknown."""
    usages = [Usage.of(reply) for reply in replies]
    costs = [prices.of(name, usage) for usage in usages]
    cost = None if None in costs else sum(filter(None, costs), Decimal(0))
    reported = [usage for usage in usages if usage is not None]
    complete = bool(reported) and len(reported) == len(usages)
    return {
        "input_tokens": sum(usage.input_tokens for usage in reported) if complete else None,
        "output_tokens": sum(usage.output_tokens for usage in reported) if complete else None,
        "cost_usd": None if cost is None or not complete else format(cost, "f"),
    }


@dataclass(frozen=True, slots=True)
class _PatientModels(RoleModels):
    """Models with PATIENCE and shorter replies."""

    @override
    def model(self, name: str, role: str) -> CallableModel:
        model = RoleModels.model(self, name, role)
        limits: dict[str, Any] = {"retry_policy": PATIENCE}
        if isinstance(model, ProviderModel):
            most = min(model.output_limit.most, MOST_OUTPUT)
            limits["output_limit"] = replace(model.output_limit, configured=most, thinking=0)
        return model.model_copy(update=limits)


class _FirstToken:
    """Implements TokenStreams and TokenListener: measures the time until the first token."""

    def __init__(self, started: float) -> None:
        self._started = started
        self.seconds: float | None = None

    def of(self, call: str, role: str) -> TokenListener:  # noqa: ARG002 - all calls of the trial
        """See TokenStreams."""
        return self

    def begin(self) -> None:
        """Has no effect, because the first token of the first try counts."""

    def receive(self, chunks: Sequence[Chunk]) -> None:
        if self.seconds is None and chunks:
            self.seconds = round(time.monotonic() - self._started, 3)

    def end(self) -> None:
        """Has no effect, because no client gets the reply."""
