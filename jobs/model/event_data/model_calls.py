"""Events of the choice of a model, and of its replies."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import StringConstraints
from typing_extensions import TypedDict

from jobs.model.run_data import StepOfBranch

Usd = Annotated[str, StringConstraints(pattern=r"^-?\d+(\.\d+)?(E[+-]?\d+)?$")]
"""An amount in US dollars, as `decimal.Decimal` writes it."""


class RoutedData(TypedDict):
    """The router has chosen a model for the executor."""

    difficulty: Literal["simple", "medium", "hard"]
    model: str | None
    """Null: the default model."""
    reason: str
    by: Literal["model", "default", "signals"]


class PassedOverData(TypedDict):
    """A model that gave no reply."""

    model: str
    reason: str


class MessagesReadData(StepOfBranch):
    """A model has read messages of persons. Its reply is the next event."""

    messages: list[int]
    """The numbers of the messages."""
    role: str
    """The role that called, such as `executor`."""


class ModelCalledData(StepOfBranch):
    """A model has replied."""

    call: str
    """The id of the call."""
    role: str
    """The role that called, such as `planner`."""
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: Usd | None
    """Null: the price is unknown, or the provider reported no usage (no tokens)."""
    seconds: float
    cached_input_tokens: NotRequired[int]
    """The part of `input_tokens` that the provider read from its cache."""
    fell_back_from: NotRequired[list[PassedOverData]]
    """The models that were called before, and gave no reply."""
    recorded: NotRequired[str]
    """The digest of the recorded turn."""
