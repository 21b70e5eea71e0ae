"""Marker: where a requirement holds. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.requirements import Requirement

from agents.errors import ToolRefused


def holds(requirement: Requirement, environment: Mapping[str, str]) -> bool:
    """Whether its condition does, over this interpreter's values and those of `environment`.

    Raises ToolRefused for one that is written well and means nothing (`platform_machine ~= 'x'`).
    """
    if requirement.marker is None:
        return True
    try:
        return requirement.marker.evaluate(dict(environment))
    except (ValueError, LookupError) as error:  # as packaging's own errors of markers are
        said = f"{str(requirement)[:200]!r} is under a condition that means nothing: {error}"
        raise ToolRefused(said[:400]) from None
