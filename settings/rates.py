"""Settings of how often providers may be asked."""

from __future__ import annotations

import re
from typing import Any

from pydantic import Field

from settings.base import FettleSettings
from settings.providers import PROVIDERS

_MS = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_RATE = r"^([1-9]\d{0,4})/(second|minute|hour|day)(?:, ?([1-9]\d{0,9}) tokens)?$"
_SPELLED = {"google": "google_genai"}


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
