"""What building a model needs beyond its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agents.models.errors import ModelNotConfigured
from agents.models.name import ModelName
from agents.models.patience import Patience
from agents.models.redaction import Redaction

KEY_VARIABLES: Mapping[str, str] = {"groq": "GROQ_API_KEY", "google_genai": "GOOGLE_API_KEY"}
"""The environment variable that holds each provider's key; only `settings/` reads it."""

PUBLIC_URLS: Mapping[str, str] = {
    "groq": "https://api.groq.com",
    "google_genai": "https://generativelanguage.googleapis.com",
}
"""Where each provider is, unless the options say otherwise."""

SHIPPED_RECORDINGS = Path(__file__).parents[1] / "recordings"


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Keys and base URLs are by provider (`groq`, `google_genai`).

    A base URL is the host alone; the clients add their paths. One that is not given is the
    provider's public one, whatever the environment says.
    """

    api_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    base_urls: Mapping[str, str] = field(default_factory=dict)
    timeout_seconds: float = 60.0
    max_retries: int = 4
    total_seconds: float = 120.0
    max_output_tokens: int = 2_048
    temperature: float = 0.0
    recordings: Path = SHIPPED_RECORDINGS
    redaction: Redaction = field(default_factory=Redaction)

    @property
    def patience(self) -> Patience:
        """The bounds of one call in time and tries."""
        return Patience(self.timeout_seconds, self.max_retries, self.total_seconds)

    def api_key(self, name: ModelName) -> str:
        """The key for this model. Raises ModelNotConfigured naming the variable to set."""
        key = self.api_keys.get(name.provider, "").strip()
        if not key:
            raise ModelNotConfigured(f"{name} needs a key: set {KEY_VARIABLES[name.provider]}")
        return key

    def base_url(self, name: ModelName) -> str:
        """Where this model is asked."""
        return (self.base_urls.get(name.provider) or PUBLIC_URLS[name.provider]).rstrip("/")
