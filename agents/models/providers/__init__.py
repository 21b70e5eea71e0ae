"""The providers, one file each. To add one: write its file, and name it here.

Why others are missing: ADR 70
"""

from __future__ import annotations

from collections.abc import Mapping

from agents.models.providers import (
    anthropic,
    azure,
    compatible,
    deepseek,
    google_genai,
    groq,
    mistral,
    ollama,
    openai,
    openrouter,
    vertex,
)
from agents.models.providers.kind import ModelConfig, Provider

PROVIDERS: Mapping[str, Provider] = {
    module.PROVIDER.name: module.PROVIDER
    for module in (
        groq,
        google_genai,
        openai,
        anthropic,
        deepseek,
        openrouter,
        mistral,
        azure,
        vertex,
        ollama,
        compatible,
    )
}
"""By name. Where no model is set, the first one with a key answers."""

__all__ = ["PROVIDERS", "ModelConfig", "Provider"]
