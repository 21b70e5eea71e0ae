"""Which models play which role: for a worker, and for one job."""

from __future__ import annotations

from agents.models import LIGHT, Chains, ModelPool
from agents.role_models import RoleModels
from settings.models import ModelSettings

LARGE = {"groq": "groq:openai/gpt-oss-120b", "google_genai": "google_genai:gemini-2.5-flash"}
SMALL = {"groq": "groq:openai/gpt-oss-20b", "google_genai": "google_genai:gemini-2.5-flash-lite"}
"""Where no model is set: those of the providers with keys, in this order."""


def chains(settings: ModelSettings) -> Chains:
    """What the settings say; the light roles have small models only where nothing is set."""
    keys = {"groq": settings.groq_api_key, "google_genai": settings.google_api_key}
    able = [name for name in LARGE if keys[name]]
    by_role = settings.by_role("model")
    if not settings.model:
        by_role = {**dict.fromkeys(LIGHT, tuple(SMALL[name] for name in able)), **by_role}
    default = settings.model or tuple(LARGE[name] for name in able)
    return Chains(default, by_role, settings.by_role("escalation"))


def models_of(pool: ModelPool, wanted: str | None, chosen: Chains) -> RoleModels:
    """The models of one job; `wanted` is the one that its spec names.

    Who names a model gets that one in every role, or an error: no other stands in for it, and none
    takes over.
    """
    return RoleModels.alone(pool, wanted) if wanted else RoleModels(pool, chosen)
