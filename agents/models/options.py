"""ModelOptions: the settings for building models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agents.models.errors import ModelNotConfigured
from agents.models.name import ModelName
from agents.models.retry import RetryPolicy
from agents.models.transport.connection import Timeouts
from agents.recordings.redaction import Redaction

SHIPPED_RECORDINGS = Path(__file__).parents[1] / "recordings"


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Keys and base URLs are by provider (`groq`, `google_genai`); times in seconds.

    `context_tokens` bounds a request with its reply for every model. Without a base URL the
    provider's public one is used, whatever the environment says.
    """

    api_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    base_urls: Mapping[str, str] = field(default_factory=dict)
    connect_seconds: float = 10.0
    first_token_seconds: float = 60.0
    total_seconds: float = 120.0
    max_retries: int = 4
    max_wait_seconds: float = 10.0
    max_output_tokens: int = 2_048
    context_tokens: int | None = None
    temperature: float = 0.0
    recordings: Path = SHIPPED_RECORDINGS
    redaction: Redaction = field(default_factory=Redaction)

    @property
    def retry_policy(self) -> RetryPolicy:
        """The bounds of one call in time and retries."""
        return RetryPolicy(
            self.max_retries, self.total_seconds, longest_asked_seconds=self.max_wait_seconds
        )

    @property
    def times(self) -> Timeouts:
        """The time limits of one try."""
        return Timeouts(self.connect_seconds, self.first_token_seconds)

    def api_key(self, name: ModelName) -> str:
        """The key for this model, empty if none is needed.

        Raises ModelNotConfigured naming the variable to set.
        """
        key = self.api_keys.get(name.provider, "").strip()
        if not key and name.of.key_is_needed:
            raise ModelNotConfigured(f"{name} needs a key: set {name.of.key} where the workers run")
        return key

    def base_url(self, name: ModelName) -> str:
        """The address for this model. Raises ModelNotConfigured naming the variable to set."""
        url = self.base_urls.get(name.provider) or name.of.public
        if url is None:
            raise ModelNotConfigured(
                f"{name} needs an address: set {name.of.address} where the workers run"
            )
        return url.rstrip("/")

    def context(self, name: ModelName, library_context: int | None) -> int | None:
        """The tokens of a request with its reply; `library_context` is what the model's library
        knows.

        None: unknown, and the provider refuses a request that is too long.
        """
        known = [each for each in (self.context_tokens, library_context) if each is not None]
        return min(known, default=name.of.context)

    def output_bound(self, name: ModelName) -> int:
        """The most output tokens of one reply of this model, thinking included."""
        thoughts = 0 if name.is_recording else name.of.thinking_tokens(name.model)
        return self.max_output_tokens + thoughts
