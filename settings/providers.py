"""Settings of the providers of models: keys and addresses. They are read nowhere else."""

from __future__ import annotations

import re
from typing import Any

from pydantic import AliasChoices, Field, SecretStr

from settings.base import FettleSettings

PROVIDERS = (
    "groq",
    "google",
    "openai",
    "anthropic",
    "deepseek",
    "openrouter",
    "ollama",
    "compatible",
)
"""As the settings name them; `provider:model` says `google_genai` for `google`."""

_SPELLED = {"google": "google_genai"}
_MS = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_RATE = r"^([1-9]\d{0,4})/(second|minute|hour|day)(?:, ?([1-9]\d{0,9}) tokens)?$"


def _key(variable: str, who: str) -> Any:
    return Field(None, validation_alias=AliasChoices(variable), description=f"key for {who}")


def _address(who: str) -> Any:
    return Field(None, pattern=r"^https?://", description=f"another address for {who}'s API")


class ProviderSettings(FettleSettings):
    """A provider without a key is not asked, but for those on machines of one's own."""

    groq_api_key: SecretStr | None = _key("GROQ_API_KEY", "Groq")
    groq_base_url: str | None = _address("Groq")
    google_api_key: SecretStr | None = _key("GOOGLE_API_KEY", "Gemini")
    google_base_url: str | None = _address("Gemini")
    openai_api_key: SecretStr | None = _key("OPENAI_API_KEY", "OpenAI")
    openai_base_url: str | None = _address("OpenAI")
    anthropic_api_key: SecretStr | None = _key("ANTHROPIC_API_KEY", "Anthropic")
    anthropic_base_url: str | None = _address("Anthropic")
    deepseek_api_key: SecretStr | None = _key("DEEPSEEK_API_KEY", "DeepSeek")
    deepseek_base_url: str | None = _address("DeepSeek")
    openrouter_api_key: SecretStr | None = _key("OPENROUTER_API_KEY", "OpenRouter")
    openrouter_base_url: str | None = _address("OpenRouter")
    ollama_api_key: SecretStr | None = Field(
        None, description="key for Ollama, if a proxy before it wants one"
    )
    ollama_base_url: str | None = Field(
        None, pattern=r"^https?://", description="address of Ollama, if not port 11434 of this host"
    )
    compatible_api_key: SecretStr | None = Field(
        None, description="key for the server of `compatible:` models, if it wants one"
    )
    compatible_base_url: str | None = Field(
        None,
        pattern=r"^https?://",
        description="address of a server that speaks OpenAI's protocol (vLLM, llama.cpp, LiteLLM), "
        "with its `/v1`: it answers for `compatible:MODEL`",
    )

    def api_keys(self) -> dict[str, str]:
        """The keys that there are, by provider."""
        found = {name: getattr(self, f"{name}_api_key") for name in PROVIDERS}
        keys = {name: key.get_secret_value() for name, key in found.items() if key}
        return {_SPELLED.get(name, name): key for name, key in keys.items() if key.strip()}

    def base_urls(self) -> dict[str, str]:
        """The addresses that are set, by provider."""
        found = {name: getattr(self, f"{name}_base_url") for name in PROVIDERS}
        return {_SPELLED.get(name, name): url for name, url in found.items() if url}


def _rate(who: str) -> Any:
    said = (
        f"requests that all workers together send to {who}, as `30/minute`, and if it counts "
        "tokens as `30/minute, 6000 tokens`"
    )
    return Field(None, pattern=_RATE, description=said)


class RateSettings(FettleSettings):
    """A provider without a rate is asked as often as jobs want, until it says no."""

    rate_groq: str | None = _rate("Groq")
    rate_google: str | None = _rate("Gemini")
    rate_openai: str | None = _rate("OpenAI")
    rate_anthropic: str | None = _rate("Anthropic")
    rate_deepseek: str | None = _rate("DeepSeek")
    rate_openrouter: str | None = _rate("OpenRouter")
    rate_ollama: str | None = _rate("Ollama")
    rate_compatible: str | None = _rate("the server of `compatible:` models")
    rate_wait_seconds: float = Field(
        600.0,
        gt=0,
        description="how long a request may wait for its turn; beyond it the model counts as "
        "unavailable",
    )

    def rates(self) -> dict[str, tuple[int, int | None, int]]:
        """By provider, as models are named: requests, tokens (None: any number), period in ms."""
        found: dict[str, tuple[int, int | None, int]] = {}
        for name in PROVIDERS:
            match = re.match(_RATE, getattr(self, f"rate_{name}") or "")
            if match is not None:
                tokens = int(match[3]) if match[3] else None
                found[_SPELLED.get(name, name)] = (int(match[1]), tokens, _MS[match[2]])
        return found
