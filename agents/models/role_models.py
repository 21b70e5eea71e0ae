"""RoleModels: the models of one job, by role."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from langchain_core.language_models import BaseChatModel

from agents.models.chains import Chains, Role
from agents.models.errors import ModelUnavailable
from agents.models.name import ModelName
from agents.models.pool import ModelPool


@dataclass(frozen=True, slots=True)
class RoleModels:
    """Implements the port Models: names from `chains`, models from a pool."""

    pool: ModelPool
    chains: Chains

    @classmethod
    def alone(cls, pool: ModelPool, name: str) -> RoleModels:
        """One model in every role, without a fallback."""
        return cls(pool, Chains((name,)))

    def name(self, role: str, level: int = 0) -> str:
        """See `agents.ports.Models`."""
        return self.chain(role, level)[0]

    def chain(self, role: str, level: int = 0) -> Sequence[str]:
        """See `agents.ports.Models`."""
        return self.chains.of(role, level)

    def levels(self, role: str) -> int:
        """See `agents.ports.Models`."""
        return self.chains.levels(role)

    def named(self, name: str, role: str) -> BaseChatModel:
        """See `agents.ports.Models`."""
        return self.pool.get(ModelName.parse(name), cast("Role", role))

    def skip_reason(self, name: str) -> str | None:
        """See `agents.ports.Models`."""
        return self.pool.breaker.skip_reason(name)

    def note_unavailable(self, name: str, error: ModelUnavailable) -> None:
        """See `agents.ports.Models`."""
        self.pool.breaker.note(name, error)
