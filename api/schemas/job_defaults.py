"""The operator's defaults for new jobs, which may change at run time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from api.quantities import parse_duration
from api.schemas import patterns
from api.schemas.job_request import CommonTerms, Labels
from jobs.model.fleet import FleetUnreadable

ROLES = ("planner", "executor", "critic", "tester", "summary", "router")
"""The roles of models, as `agents.ports.Role`."""
MOST_FALLBACKS = 10


def _split(value: object) -> object:
    """The parts of a text with commas, as a form sends it and the settings have it."""
    if not isinstance(value, str):
        return value
    return [part.strip() for part in value.split(",") if part.strip()]


Comma = BeforeValidator(_split)
ModelChain = Annotated[
    list[Annotated[str, Field(pattern=patterns.ONE_MODEL)]],
    Field(min_length=1, max_length=MOST_FALLBACKS),
    Comma,
]


def _role(role: str) -> Any:
    description = (
        f"models of the {role}, from the operator's allow-list: the next one is called if one is "
        "unavailable; else the default model, or the worker's setting"
    )
    return Field(None, description=description)


class JobDefaults(CommonTerms):
    """The terms of new jobs that leave them out; null: no default."""

    planner_model: ModelChain | None = _role("planner")
    executor_model: ModelChain | None = _role("executor")
    critic_model: ModelChain | None = _role("critic")
    tester_model: ModelChain | None = _role("tester")
    summary_model: ModelChain | None = _role("summary")
    router_model: ModelChain | None = _role("router")
    review: bool | None = Field(None, description="ask a person before the critic decides")
    labels: Annotated[Labels, Field(min_length=1), Comma] | None = Field(
        None, description="labels to find the job by; webhooks and review rules select jobs by them"
    )

    @model_validator(mode="before")
    @classmethod
    def _read_durations(cls, values: Any) -> Any:
        """A person types a duration as in 30m."""
        typed = values.items() if isinstance(values, dict) else ()
        seconds = {
            name: parse_duration(text) or text
            for name, text in typed
            if name.endswith("_seconds") and isinstance(text, str)
        }
        return {**values, **seconds} if seconds else values

    @property
    def role_models(self) -> Mapping[str, tuple[str, ...]] | None:
        """The chains of the roles that have one; None without any."""
        chains = {role: getattr(self, f"{role}_model") for role in ROLES}
        return {role: tuple(chain) for role, chain in chains.items() if chain} or None


NO_DEFAULTS = JobDefaults()


def parse_defaults(stored: Mapping[str, Any]) -> JobDefaults:
    """The defaults in the record of the fleet. Fields of newer releases are ignored. Raises
    FleetUnreadable."""
    values = {name: value for name, value in stored.items() if name in JobDefaults.model_fields}
    try:
        return JobDefaults.model_validate(values, strict=False)
    except ValidationError as error:
        detail = f"the defaults in the record of the fleet (fettle:fleet) cannot be read: {error}"
        raise FleetUnreadable(detail) from error
