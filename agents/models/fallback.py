"""Calls the models of a chain in order, until one answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage

from agents.errors import ModelError, ModelRefused, ModelUnavailable, another_may_answer
from agents.models.role_models import RoleModels

Ask = Callable[[str, Any], Awaitable[AIMessage]]
"""Calls a model: `provider:model`, and the model itself."""


@dataclass(frozen=True, slots=True)
class SkippedModel:
    """A model of the chain that did not answer, and why."""

    model: str
    reason: str


@dataclass(frozen=True, slots=True)
class FallbackReply:
    """The reply, the model that gave it, and those that did not answer."""

    message: AIMessage
    model: str
    passed_over: Sequence[SkippedModel] = ()

    def fields(self) -> dict[str, Any]:
        """The skipped models for an event; empty if the first one answered."""
        if not self.passed_over:
            return {}
        listed = [{"model": each.model, "reason": each.reason} for each in self.passed_over]
        return {"fell_back_from": listed}


async def ask_first_available(models: RoleModels, role: str, level: int, ask: Ask) -> FallbackReply:
    """The first reply of a model of the role's chain.

    A model that was unavailable a moment ago is called only if all others were, too. Raises the
    last model's error; but ModelUnavailable if any of them may answer later.
    """
    chain, breaker = models.chain(role, level), models.pool.breaker
    skipped: list[SkippedModel] = []
    later: list[ModelUnavailable] = []
    absent = {name: why for name in chain if (why := breaker.skip_reason(name)) is not None}
    if absent and len(absent) < len(chain):
        later = [
            ModelUnavailable(why, providers=(_provider(name),)) for name, why in absent.items()
        ]
        skipped = [SkippedModel(name, why) for name, why in absent.items()]
        chain = [name for name in chain if name not in absent]
    for place, name in enumerate(chain, start=1):
        try:
            message = await ask(name, models.named(name, role))
        except ModelError as error:
            if isinstance(error, ModelUnavailable):
                breaker.note(name, error)
                later.append(error)
            goes_on = another_may_answer(error)
            if not goes_on and not (later and isinstance(error, ModelRefused)):
                raise
            skipped.append(SkippedModel(name, str(error)))
            if not goes_on or place == len(chain):
                raise _of_all(skipped, error, later) from error
        else:
            return FallbackReply(message, name, skipped)
    raise AssertionError("a chain has at least one model")


def _of_all(
    skipped: Sequence[SkippedModel], error: ModelError, later: Sequence[ModelUnavailable]
) -> ModelError:
    """The error of a chain without an answer: `error` itself if the chain has one model.

    It asks for the shortest of the waits until one of `later` may answer.
    """
    if len(skipped) == 1:
        return error
    listed = "; ".join(f"{each.model}: {each.reason}" for each in skipped)
    said = f"none of {len(skipped)} models answered: {listed}"
    if not later:
        combined = copy(error)
        combined.args = (said,)
        return combined
    wait = min(each.retry_after_seconds or 0.0 for each in later)
    providers = dict.fromkeys(name for each in later for name in each.providers)
    return ModelUnavailable(
        said,
        retry_after_seconds=wait or None,
        providers=tuple(providers),
        unproven=all(each.unproven for each in later),
    )


def _provider(model: str) -> str:
    return model.partition(":")[0]
