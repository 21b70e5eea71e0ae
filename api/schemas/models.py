"""Which models there are, and whether they answer."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from api.schemas.patterns import MODEL
from api.schemas.wire import RequestModel, ResponseModel


class OfferedModel(ResponseModel):
    """A model that the workers have in a chain."""

    name: str = Field(description="`provider:model`")
    input_usd: str | None = Field(description="for a million tokens; null: not known")
    output_usd: str | None
    missing: str | None = Field(description="what keeps it from being asked; null: nothing")


class ProviderState(ResponseModel):
    """A provider, as the workers can reach it."""

    name: str
    key: str = Field(description="the variable that holds its key")
    has_key: bool
    missing: str | None = Field(description="what keeps it from being asked; null: nothing")


class Models(ResponseModel):
    """As the worker says that was seen last; `differing` are those that say otherwise."""

    workers: int | None = Field(description="how many; null: shown to the operator alone")
    differing: list[str] | None = Field(
        description="ids of workers with other models, keys or libraries; null: as above"
    )
    roles: dict[str, list[list[str]]] = Field(
        description="to each role its chains: the role's own first, then those that take over "
        "where repairs fail; in each, who answers first, then those that stand in"
    )
    offered: list[OfferedModel]
    providers: list[ProviderState]
    recordings: list[str]
    allowed: list[str] = Field(description="what a job may name")


class CheckRequest(RequestModel):
    """Which models to check."""

    models: list[Annotated[str, StringConstraints(pattern=MODEL)]] | None = Field(
        None, min_length=1, max_length=20, description="without it, all that are offered"
    )


class CheckedModel(ResponseModel):
    """What came of one short call. Nothing known is null."""

    name: str
    ok: bool
    error: str | None = Field(description="in words, with what to do")
    seconds: float | None
    first_token_seconds: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: str | None


class Checked(ResponseModel):
    """The results, in the order of the models."""

    models: list[CheckedModel]
