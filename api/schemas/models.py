"""The models of the workers, and checks of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from api.schemas.fields import RequestModel, ResponseModel, Time
from api.schemas.patterns import MODEL
from jobs.model.event_data.model_calls import Usd


class OfferedModel(ResponseModel):
    """A model in one of the workers' chains."""

    name: str = Field(description="`provider:model`")
    input_usd: Usd | None = Field(description="per million tokens; null: unknown")
    output_usd: Usd | None
    missing: str | None = Field(description="what it needs to be usable; null: nothing")
    context_tokens: int | None = Field(
        None,
        description="tokens of a request with its reply, at most, by `FETTLE_CONTEXT_TOKENS`, the "
        "model's library and its server; null: not known",
    )


class ProviderState(ResponseModel):
    """A provider, as the workers see it."""

    name: str
    key: str = Field(description="the variable that holds its key")
    has_key: bool
    missing: str | None = Field(description="what it needs to be usable; null: nothing")


class AcceptedForm(ResponseModel):
    """The form in which the server of a model accepts requests: learned from its refusals, or set
    by the operator in `FETTLE_MODEL_CAPABILITIES`, which comes first."""

    model: str = Field(description="`provider:model`; in a setting also `provider:*`")
    source: Literal["learned", "setting"]
    drop: list[str] = Field(
        default_factory=list,
        description="fields that are not sent; `section.name`: in the body's field `section`",
    )
    rename: dict[str, str] = Field(
        default_factory=dict, description="fields that are sent by another name"
    )
    add: dict[str, str] = Field(
        default_factory=dict, description="fields that each reply in the conversation has to have"
    )
    short_ids: bool = Field(
        default=False, description="whether ids of calls have nine letters and digits"
    )
    named_results: bool = Field(
        default=False, description="whether each result of a call has the name of its tool"
    )
    max_output_tokens: int | None = Field(None, description="null: as the workers' settings say")
    context_tokens: int | None = Field(None, description="null: not known")
    learned_at: Time | None = Field(None, description="the last change; null: a setting")
    expires_at: Time | None = Field(None, description="null: a setting, which does not expire")


class Models(ResponseModel):
    """The report of the worker that was seen last; `differing` are workers with another report."""

    workers: int | None = Field(description="the number of workers; null: only for the operator")
    differing: list[str] | None = Field(
        description="ids of workers with other models, keys or libraries; null: only for the "
        "operator"
    )
    roles: dict[str, list[list[str]]] = Field(
        description="the chains of each role: its own first, then those that take over where "
        "repairs fail; in each chain the first model, then its fallbacks"
    )
    offered: list[OfferedModel]
    providers: list[ProviderState]
    accepted: list[AcceptedForm] = Field(
        default_factory=list, description="by model, for models with a form of their own"
    )
    recordings: list[str]
    allowed: list[str] = Field(description="patterns of the models that a job may name")


class CheckRequest(RequestModel):
    """The models to check."""

    models: list[Annotated[str, StringConstraints(pattern=MODEL)]] | None = Field(
        None, min_length=1, max_length=20, description="null: all offered models"
    )


class CheckedStep(ResponseModel):
    """The result of one step of a check."""

    step: str = Field(
        description="`forced_tool`: the model calls the only tool, as planner and critic need it; "
        "`tool_call`: it calls one of the executor's tools; `tool_result`: it answers to the "
        "conversation with that call and its result; `usage`: every reply reports its tokens"
    )
    required: bool = Field(description="whether no job can run without it")
    ok: bool | None = Field(description="null: not tried, because an earlier step failed")
    error: str | None = Field(description="what failed")
    seconds: float | None = Field(description="the time of the step's requests")


class CheckedModel(ResponseModel):
    """The outcome of the check of one model. Unknown values are null."""

    name: str
    ok: bool = Field(description="whether a job can run: all required steps have worked")
    error: str | None = Field(description="the first failure of a required step, with advice")
    steps: list[CheckedStep] = Field(
        default_factory=list,
        description="in order; empty if no request could be sent, and for recordings",
    )
    notes: list[str] = Field(
        default_factory=list, description="observations that keep no job from running"
    )
    context_tokens: int | None = Field(None, description="see the field of GET /models")
    seconds: float | None = Field(description="of the whole check")
    first_token_seconds: float | None
    input_tokens: int | None = Field(description="of all requests of the check")
    output_tokens: int | None
    cost_usd: Usd | None


class Checked(ResponseModel):
    """The results, in the order of the models."""

    models: list[CheckedModel]
