"""The providers, one file each. To add a provider, write its file and add it to PROVIDERS.

ADR 70 has the reasons why other providers are missing.
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
"""The providers by name. If no model is set, the first provider with a key is used."""

__all__ = ["PROVIDERS", "ModelConfig", "Provider"]
