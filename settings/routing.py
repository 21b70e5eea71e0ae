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
    """Models by how difficult the router finds a task, see agents/models/router.py."""

    route_simple: Chain = _route("simple")
    route_medium: Chain = _route("medium")
    route_hard: Chain = _route("hard")
    route_skips_planning: bool = Field(
        default=True,
        description="whether a job that the router finds simple goes without a planner",
    )
