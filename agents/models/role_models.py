"""RoleModels: the models of one job, by role."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from agents.errors import ModelNotConfigured
from agents.models.build import CallableModel
from agents.models.chains import Chains
from agents.models.name import ModelName
from agents.models.pool import ModelPool
from agents.ports import Role


@dataclass(frozen=True, slots=True)
class RoleModels:
    """Names from `chains`, as the job and the operator chose them; models from a pool.

    `level` is the position in a role's escalation chain: 0 is the role's own model, each level
    above it a stronger one. A level beyond the last counts as the last. `varied`: at the
    temperature of repairs.
    """

    pool: ModelPool
    chains: Chains
    varied: bool = False

    @classmethod
    def alone(cls, pool: ModelPool, name: str) -> RoleModels:
        """One model in every role, without a fallback."""
        return cls(pool, Chains((name,)))

    def name(self, role: str, level: int = 0) -> str:
        """`provider:model` of the first model to call."""
        return self.chain(role, level)[0]

    def chain(self, role: str, level: int = 0) -> Sequence[str]:
        """The same, followed by its fallbacks in order."""
        return self.chains.of(role, level)

    def levels(self, role: str) -> int:
        """How many levels there are; at least 1."""
        return self.chains.levels(role)

    def named(self, name: str, role: str) -> CallableModel:
        """The model with a name from `chain`, built once a process. Raises ModelNotConfigured."""
        return self.pool.get(ModelName.parse(name), cast("Role", role), varied=self.varied)

    def sees_images(self, role: Role) -> bool:
        """Whether the role's first model takes images, as far as its library knows."""
        try:
            model = self.named(self.name(role), role)
        except ModelNotConfigured:  # a fallback may be
            return False
        return model.sees_images
