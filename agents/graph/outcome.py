"""Outcome: the result of a finished graph, read from its final state.

See ADR 40.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.evidence.revisions import best_revision
from agents.state import State, why_it_ended


@dataclass(frozen=True, slots=True)
class Outcome:
    """A job's result. `approved_by` is `critic`, a person's name, or None without an approval.

    `override`: a person approved work without evidence. `exhausted`: the revisions ran out, or
    another one would not help (`ends` says why); then `answer`, `artifacts`, `checks` (the report)
    and `verification` are those of the best revision. An artifact is {name, digest, size,
    media_type}.
    """

    approved: bool
    answer: str
    approved_by: str | None
    override: bool
    artifacts: tuple[Mapping[str, Any], ...]
    summary: str
    exhausted: bool
    ends: str | None = None
    checks: Mapping[str, Any] | None = None
    verification: Mapping[str, Any] | None = None


def read_outcome(state: State | Mapping[str, Any]) -> Outcome:
    """The outcome in a final state."""
    approved_by = state.get("approved_by")
    best = best_revision(state)
    return Outcome(
        approved=approved_by is not None,
        answer=best.answer,
        approved_by=approved_by,
        override=bool(state.get("override")),
        artifacts=tuple(best.artifacts.values()),
        summary=state.get("summary", ""),
        exhausted=bool(state.get("exhausted")),
        ends=why_it_ended(state),
        checks=best.checked,
        verification=best.verification,
    )
