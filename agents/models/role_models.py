"""The models of one job by role: its chain, its stronger models, and the call of a chain in order
until a model answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Final, cast

from langchain_core.messages import AIMessage

from agents.errors import (
    ModelError,
    ModelNotConfigured,
    ModelRefused,
    ModelUnavailable,
    another_may_answer,
)
from agents.models.build import CallableModel
from agents.models.name import ModelName
from agents.models.pool import ModelPool
from agents.ports import Role

LIGHT: Final[frozenset[Role]] = frozenset({"summary", "router"})
"""Roles with short and simple questions. A small model is used if the settings name no model."""


@dataclass(frozen=True, slots=True)
class Chains:
    """The models that the operator or a job chose, written `provider:model`.

    A role's chain is tried in order: if a model is unavailable, the next one is called. When a
    role's repairs fail, a stronger model takes over. Level 0 is the chain itself; each further
    level adds one model of `stronger`, with the level below as its fallback.
    """

    default: tuple[str, ...] = ()
    """The chain of a role without an entry in `by_role`."""
    by_role: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    stronger: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By role, the models that take over after failed repairs, the next level first."""

    def of(self, role: str, level: int = 0) -> tuple[str, ...]:
        """The models of a role, the first to call first; at least one.

        A `level` beyond the last counts as the last. Raises ModelNotConfigured.
        """
        base = self.by_role.get(role) or self.default
        if not base:
            raise ModelNotConfigured(
                f"no model is configured for the {role}: set GROQ_API_KEY, GOOGLE_API_KEY or "
                "another provider's key where the workers run, or FETTLE_MODEL to provider:model"
            )
        climbed = self.stronger.get(role, ())[: max(0, level)]
        return tuple(dict.fromkeys((*reversed(climbed), *base)))

    def levels(self, role: str) -> int:
        """The number of levels of a role; at least 1."""
        return 1 + len(self.stronger.get(role, ()))


@dataclass(frozen=True, slots=True)
class RoleModels:
    """The models of a job. `level` is the position in a role's escalation chain: level 0 is the
    role's chain, and each further level begins with a stronger model."""

    pool: ModelPool
    """Builds and keeps the models."""
    chains: Chains
    """The names of the models, as the job and the operator chose them."""
    varied: bool = False
    """Whether the models are called at the temperature of repairs."""

    @classmethod
    def alone(cls, pool: ModelPool, name: str) -> RoleModels:
        """The models of a job that uses one model in every role, without a fallback."""
        return cls(pool, Chains((name,)))

    def name(self, role: str, level: int = 0) -> str:
        """`provider:model` of the first model to call."""
        return self.chain(role, level)[0]

    def chain(self, role: str, level: int = 0) -> Sequence[str]:
        """The name of the first model, followed by its fallbacks in order."""
        return self.chains.of(role, level)

    def levels(self, role: str) -> int:
        """The number of levels of a role; at least 1."""
        return self.chains.levels(role)

    def model(self, name: str, role: str) -> CallableModel:
        """The model with a name from `chain`, built once in a process. Raises
        ModelNotConfigured."""
        return self.pool.get(ModelName.parse(name), cast("Role", role), varied=self.varied)

    def sees_images(self, role: Role) -> bool:
        """Whether the role's first model takes images, as far as its library knows."""
        try:
            model = self.model(self.name(role), role)
        except ModelNotConfigured:  # a fallback may be
            return False
        return model.sees_images


Ask = Callable[[str, Any], Awaitable[AIMessage]]
"""Calls a model: `provider:model`, and the model itself."""


@dataclass(frozen=True, slots=True)
class SkippedModel:
    """A model of the chain that did not answer, and the reason."""

    model: str
    reason: str


@dataclass(frozen=True, slots=True)
class FallbackReply:
    """The reply of a chain, the model that gave it, and the models that did not answer."""

    message: AIMessage
    model: str
    skipped_models: Sequence[SkippedModel] = ()

    def skipped_data(self) -> dict[str, Any]:
        """The skipped models for an event; empty if the first one answered."""
        if not self.skipped_models:
            return {}
        listed = [
            {"model": skipped.model, "reason": skipped.reason} for skipped in self.skipped_models
        ]
        return {"fell_back_from": listed}


async def ask_first_available(models: RoleModels, role: str, level: int, ask: Ask) -> FallbackReply:
    """The first reply of a model of the role's chain.

    A model that was unavailable a moment ago is called only if all others were, too. Raises the
    last model's error; but ModelUnavailable if any of them may answer later.
    """
    chain, breaker = models.chain(role, level), models.pool.breaker
    skipped: list[SkippedModel] = []
    unavailable: list[ModelUnavailable] = []
    absent = {name: reason for name in chain if (reason := breaker.skip_reason(name)) is not None}
    if absent and len(absent) < len(chain):
        unavailable = [
            ModelUnavailable(reason, providers=(_provider(name),))
            for name, reason in absent.items()
        ]
        skipped = [SkippedModel(name, reason) for name, reason in absent.items()]
        chain = [name for name in chain if name not in absent]
    for position, name in enumerate(chain, start=1):
        try:
            message = await ask(name, models.model(name, role))
        except ModelError as error:
            if isinstance(error, ModelUnavailable):
                breaker.note(name, error)
                unavailable.append(error)
            goes_on = another_may_answer(error)
            if not goes_on and not (unavailable and isinstance(error, ModelRefused)):
                raise
            skipped.append(SkippedModel(name, str(error)))
            if not goes_on or position == len(chain):
                raise _of_all(skipped, error, unavailable) from error
        else:
            return FallbackReply(message, name, skipped)
    raise AssertionError("a chain has at least one model")


def _of_all(
    skipped: Sequence[SkippedModel], error: ModelError, unavailable: Sequence[ModelUnavailable]
) -> ModelError:
    """The error of a chain without an answer: `error` itself if the chain has one model.

    It asks for the shortest wait until one of the models may answer.
    """
    if len(skipped) == 1:
        return error
    listed = "; ".join(f"{model.model}: {model.reason}" for model in skipped)
    message = f"none of {len(skipped)} models answered: {listed}"
    if not unavailable:
        combined = copy(error)
        combined.args = (message,)
        return combined
    wait = min(failure.retry_after_seconds or 0.0 for failure in unavailable)
    providers = dict.fromkeys(name for failure in unavailable for name in failure.providers)
    return ModelUnavailable(
        message,
        retry_after_seconds=wait or None,
        providers=tuple(providers),
        unproven=all(failure.unproven for failure in unavailable),
    )


def _provider(model: str) -> str:
    return model.partition(":")[0]
