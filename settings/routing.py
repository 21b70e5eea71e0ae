"""Settings of the router: which models a job gets that names `auto`."""

from __future__ import annotations

from pydantic import Field

from settings.base import FettleSettings
from settings.models import Chain


def _route(what: str) -> tuple[str, ...]:
    described = f"models of {what} tasks of jobs that name `auto`; else `FETTLE_MODEL`"
    chain: tuple[str, ...] = Field((), description=described)
    return chain


class RoutingSettings(FettleSettings):
    """Scores from 0 on, see agents/difficulty.py."""

    route_simple: Chain = _route("simple")
    route_medium: Chain = _route("medium")
    route_hard: Chain = _route("hard")
    route_simple_at: float = Field(
        0.3, ge=0, description="score of simple signals from which on a task counts as simple"
    )
    route_hard_at: float = Field(
        0.7, ge=0, description="score of hard signals from which on a task counts as hard"
    )
    route_looks_hard_at: float = Field(
        0.15,
        ge=0,
        description="score of hard signals from which on a simple one is doubted: the model of the "
        "role `router` is asked",
    )
    route_skips_planning: bool = Field(
        default=True, description="whether a job that `auto` finds simple goes without a planner"
    )
