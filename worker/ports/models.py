"""RoleModels: which model plays which role, for one job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from agents.models import ModelName, ModelNotConfigured, ModelPool, Role

GROQ_DEFAULT = "groq:openai/gpt-oss-120b"
GOOGLE_DEFAULT = "google_genai:gemini-2.5-flash"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What the operator wants: a default model, and others for some roles."""

    default: str | None
    by_role: tuple[tuple[str, str], ...] = ()

    def of(self, role: str, wanted: str | None) -> str:
        """The job's own model, else the role's, else the default. Raises ModelNotConfigured."""
        name = wanted or dict(self.by_role).get(role) or self.default
        if name is None:
            raise ModelNotConfigured(
                "no model is configured: set GROQ_API_KEY or GOOGLE_API_KEY for the worker, "
                "or FETTLE_MODEL to provider:model"
            )
        return name


@dataclass(frozen=True, slots=True)
class RoleModels:
    """Implements the port Models for one job; `wanted` is the model that its spec names."""

    pool: ModelPool
    choice: ModelChoice
    wanted: str | None

    def name(self, role: str) -> str:
        """See agents.ports.Models."""
        return self.choice.of(role, self.wanted)

    def get(self, role: str) -> Any:
        """See agents.ports.Models."""
        return self.pool.get(ModelName.parse(self.name(role)), cast("Role", role))
