"""Roles, and the chain of models for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from agents.errors import ModelNotConfigured
from agents.ports import Role

LIGHT: Final[frozenset[Role]] = frozenset({"summary", "router"})
"""Roles with short and simple questions. A small model is used if none is named for them."""


@dataclass(frozen=True, slots=True)
class Chains:
    """The models that the operator or a job chose, written `provider:model`.

    A role's chain is tried in order: if a model is unavailable, the next one is called. When a
    role's repairs fail, a stronger model takes over. Level 0 is the chain itself; each further
    level adds one model of `stronger`, with the level below as its fallback.
    """

    default: tuple[str, ...] = ()
    by_role: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    stronger: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, role: str, level: int = 0) -> tuple[str, ...]:
        """The models of a role, the first to call first; at least one.

        A `level` beyond the last counts as the last. Raises ModelNotConfigured.
        """
        base = self.by_role.get(role) or self.default
        if not base:
            raise ModelNotConfigured(
                f"no model is configured for the {role}: set GROQ_API_KEY, GOOGLE_API_KEY or "
                "another provider's key where the workers run, or FETTLE_MODEL to provider:model"
            )
        climbed = self.stronger.get(role, ())[: max(0, level)]
        return tuple(dict.fromkeys((*reversed(climbed), *base)))

    def levels(self, role: str) -> int:
        """The number of levels of a role; at least 1."""
        return 1 + len(self.stronger.get(role, ()))
