"""Settings of the models: which one plays which role, how to reach them, how long to wait."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from settings.base import FettleSettings, Names
from settings.providers import ProviderSettings
from settings.reading.by_model import Headers, ModelBodies, ModelCapabilities, ModelHeaders

SMALL_OUTPUT = 8_192
"""As in `agents.models.token_bounds`; settings import no other package."""
Chain = Names
"""Models as `provider:model`, separated by commas. The order counts."""


def _role(role: str) -> Any:
    description = (
        f"models of the {role}: the next one is called if one is unavailable; else `FETTLE_MODEL`"
    )
    return Field((), description=description)


def _escalation(role: str) -> Any:
    description = f"stronger models of the {role}, one after the other if repairs fail"
    return Field((), description=description)


class ModelSettings(ProviderSettings):
    """Models by role. The first model of a chain is called. If it is unavailable, the next model is
    called."""

    model: Chain = Field(
        (),
        description="default model, as provider:model, and after commas its fallbacks; unset: "
        "chosen by the providers that have a key",
    )
    planner_model: Chain = _role("planner")
    executor_model: Chain = _role("executor")
    critic_model: Chain = _role("critic")
    tester_model: Chain = _role("tester")
    summary_model: Chain = Field(
        (),
        description="models that summarize a long answer for the next job of its conversation;"
        " unset: the answer is cut, without a model call",
    )
    router_model: Chain = _role("router")
    executor_escalation: Chain = _escalation("executor")
    critic_escalation: Chain = _escalation("critic")

    model_connect_seconds: float = Field(
        10.0, gt=0, description="how long a connection to a provider may take"
    )
    model_first_token_seconds: float = Field(
        60.0,
        gt=0,
        description="how long the first token of a reply may take; longer for a request of more "
        "than 4,000 tokens, in proportion",
    )
    model_timeout_seconds: float = Field(
        300.0,
        gt=0,
        description="time limit until a reply begins, all tries included; and of silence within a "
        "reply, which may last three times as long while the server sends signs of life",
    )
    model_min_tokens_per_second: float = Field(
        5.0,
        gt=0,
        description="the slowest speed of a model: a reply is cut when its most output tokens "
        "would have come at this speed",
    )
    model_wait_seconds: float = Field(
        10.0,
        gt=0,
        description="the longest wait within a model call, if the provider asks for one "
        "(Retry-After); for a longer one the next model of the chain is asked, or the job rests "
        "until then, without a worker",
    )
    model_max_retries: int = Field(2, ge=0, description="tries after the first, per model call")
    max_output_tokens: int | None = Field(
        None,
        gt=0,
        description="output tokens of one model call; unset: 32,000, or a quarter of the model's "
        "context, and 8,192 for a model whose limits are not known. Less for a model with a lower "
        "limit of its own, and at most half of its context",
    )
    context_tokens: int | None = Field(
        None,
        ge=512,
        description="tokens of a request with its reply, at most; unset: what the model's library "
        "knows or its server names. The executor's instructions and tools take about 1,500 of "
        "them. Ollama is asked for a context of this size (`num_ctx`; else 32768)",
    )

    repair_temperature: float | None = Field(
        None,
        ge=0,
        le=2,
        description="temperature of the executor's model after a repair that failed, until one"
        " succeeds; unset: as always. A higher one makes exact edits worse",
    )
    context_share: float = Field(
        0.5,
        ge=0.05,
        le=1,
        description="the part of a model's context that a conversation may take; beyond it, the "
        "oldest replies are left out with the results of their calls",
    )
    critic_share: float = Field(
        1 / 3,
        ge=0.05,
        le=0.9,
        description="the part of the critic's context that the work and the evidence may take, at "
        "three bytes a token; at least 24,000 and at most 200,000 bytes. The default is a third",
    )

    model_headers: ModelHeaders = Field(
        None,
        description="HTTP headers that a gateway needs, as JSON by model: "
        '`{"compatible:*": {"x-portkey-provider": "openai"}}`; null removes a header. Secret',
    )
    model_body: ModelBodies = Field(
        {},
        description="fields that are added to the JSON body of requests and replace those of "
        'Fettle, by model: `{"compatible:qwen3": {"top_p": 0.8, "temperature": null}}`; null '
        "removes a field",
    )
    model_capabilities: ModelCapabilities = Field(
        {},
        description="what the server of a model accepts, in place of the record that workers "
        'learn: `{"compatible:*": {"drop": ["tool_choice"], "max_output_tokens": 4096}}`; see '
        "[models.md](models.md#what-a-server-accepts)",
    )

    @property
    def least_reply_tokens(self) -> int:
        """The output tokens that the budget of a job has to have for each call."""
        return min(self.max_output_tokens or SMALL_OUTPUT, SMALL_OUTPUT)

    def headers(self) -> Headers:
        """The headers by model."""
        return self.model_headers.get_secret_value() if self.model_headers else {}

    def role_chains(self) -> dict[str, Chain]:
        """The chains that are set, by role."""
        chains = {
            "planner": self.planner_model,
            "executor": self.executor_model,
            "critic": self.critic_model,
            "tester": self.tester_model,
            "summary": self.summary_model,
            "router": self.router_model,
        }
        return {role: chain for role, chain in chains.items() if chain}

    def escalation_chains(self) -> dict[str, Chain]:
        """The chains of stronger models that are set, by role."""
        chains = {"executor": self.executor_escalation, "critic": self.critic_escalation}
        return {role: chain for role, chain in chains.items() if chain}


def _route(difficulty: str) -> tuple[str, ...]:
    description = f"models of {difficulty} tasks, for jobs that name `auto`; else `FETTLE_MODEL`"
    chain: tuple[str, ...] = Field((), description=description)
    return chain


class RoutingSettings(FettleSettings):
    """Models by the difficulty that the router finds in a task, see agents/calls/router.py."""

    route_simple: Chain = _route("simple")
    route_medium: Chain = _route("medium")
    route_hard: Chain = _route("hard")
    route_skips_planning: bool = Field(
        default=True,
        description="whether a job that the router finds simple goes without a planner",
    )
