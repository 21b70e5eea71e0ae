"""Outcome: what a finished graph hands back, read from its final state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.evidence.best_revision import best
from agents.graph.state import State


@dataclass(frozen=True, slots=True)
class Outcome:
    """A job's end. `approved_by` is `critic`, a person's name, or None where nobody approved.

    `override`: a person approved what was not shown to work. `exhausted`: the revisions ran out,
    or more would bring nothing (`ends` says why), and `answer`, `artifacts`, `checks` (the
    report of its checks) and `verification` are those of the best
    revision.
    artifacts: ({name, digest, size, media_type}, ...).
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


def why_it_ended(state: State | Mapping[str, Any]) -> str | None:
    """Why no more revisions were made although some were left, or None."""
    critiques = state.get("critiques", [])
    ends: str | None = critiques[-1].get("ends") if critiques else None
    return ends


def outcome(state: State | Mapping[str, Any]) -> Outcome:
    """The outcome in a final state."""
    approved_by = state.get("approved_by")
    kept = best(state)
    return Outcome(
        approved=approved_by is not None,
        answer=kept.answer,
        approved_by=approved_by,
        override=bool(state.get("override")),
        artifacts=tuple(kept.artifacts.values()),
        summary=state.get("summary", ""),
        exhausted=bool(state.get("exhausted")),
        ends=why_it_ended(state),
        checks=kept.checked,
        verification=kept.verification,
    )
