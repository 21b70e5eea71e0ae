"""ModelOptions: the settings for building models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from agents.errors import ModelNotConfigured
from agents.models.capabilities.record import Capabilities, CapabilityStore
from agents.models.capabilities.server import ModelServer
from agents.models.name import ModelName
from agents.models.providers import Provider
from agents.models.providers.kind import ADDRESS, KEY, SettingNamer
from agents.models.token_bounds import OutputLimit
from agents.models.transport.time_limits import RetryPolicy, Timeouts
from agents.redaction import Redaction

T = TypeVar("T")
ByModel = Mapping[str, Mapping[str, T]]
"""By `provider:model`, or `provider:*` for all models of a provider."""
Profile = Mapping[str, Any]
"""The facts about a model in LangChain's library: `max_output_tokens`, `image_inputs`, ..."""

SHIPPED_RECORDINGS = Path(__file__).parents[1] / "recordings"


def _describe_setting(provider: str, setting: str) -> str:
    return f"{provider}'s {setting}"


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The operator's settings. `settings.models` and `settings.providers` describe their use."""

    api_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The keys, by provider: `groq`, `google_genai`."""
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """By provider. Without an entry, the provider's public address is used; no library takes an
    address from the environment."""
    provider_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The other settings that are set, by provider."""
    name_setting: Callable[[str, str], str] = _describe_setting
    """Returns the operator's name of a setting of a provider, for errors with a remedy: `groq` and
    `api_key` give GROQ_API_KEY. `settings.starting.provider_rows` declares the variables."""
    connect_seconds: float = 10.0
    """The time limit for a connection."""
    first_token_seconds: float = 60.0
    """The time limit for the first token, after a short prompt."""
    total_seconds: float = 300.0
    """The time limit until a reply begins, with all retries; and for silence within a reply."""
    tokens_per_second: float = 5.0
    """The speed of the slowest model: the limit on the length of a reply follows from it."""
    max_retries: int = 4
    """The tries after the first try."""
    max_wait_seconds: float = 10.0
    """The longest wait that a provider may ask for."""
    max_output_tokens: int | None = None
    """The limit on a reply, for every model; None: see OutputLimit."""
    context_tokens: int | None = None
    """The limit on a request with its reply, for every model; None: see OutputLimit."""
    headers: ByModel[str | None] = field(default_factory=dict, repr=False)
    """HTTP headers that are added to requests; None removes one."""
    bodies: ByModel[Any] = field(default_factory=dict)
    """Fields that are merged into the bodies of requests (RFC 7396)."""
    capabilities: ByModel[Any] = field(default_factory=dict)
    """Fields of `Capabilities` that count in place of those that were learned."""
    temperature: float = 0.0
    repair_temperature: float | None = None
    """The temperature of the executor's model after a repair that failed; None: as before. A higher
    one makes exact edits worse."""
    recordings: Path = SHIPPED_RECORDINGS
    redaction: Redaction = field(default_factory=Redaction)

    @property
    def retry_policy(self) -> RetryPolicy:
        """The bounds of one call in time and retries."""
        return RetryPolicy(
            self.max_retries, self.total_seconds, longest_requested_seconds=self.max_wait_seconds
        )

    @property
    def times(self) -> Timeouts:
        """The time limits of one try."""
        return Timeouts(
            self.connect_seconds,
            self.first_token_seconds,
            self.total_seconds,
            self.tokens_per_second,
        )

    def api_key(self, name: ModelName) -> str:
        """The key for this model; empty if the provider needs no key.

        Raises ModelNotConfigured naming the settings, one of which has to be set.
        """
        name_setting = self.setting_namer(name)
        if not self.has_key(name.of) and name.of.key_is_needed:
            keys = name.of.key_settings(name_setting)
            raise ModelNotConfigured(f"{name} needs a key: set {keys} where the workers run")
        key = self.api_keys.get(name.provider, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise ModelNotConfigured(
                f"{name} cannot use its key, which has characters that keys do not have, such as a "
                f"line break or a curly quote: correct {name_setting(KEY)} where the workers run"
            )
        return key

    def has_key(self, provider: Provider) -> bool:
        """Whether there is a key, or the setting that replaces it."""
        instead = self.provider_settings.get(provider.name, {}).get(provider.instead_of_key)
        return bool(instead or self.api_keys.get(provider.name, "").strip())

    def setting_namer(self, name: ModelName) -> SettingNamer:
        """Names the settings of this model's provider as the operator does."""
        return partial(self.name_setting, name.provider)

    def settings(self, name: ModelName) -> Mapping[str, str]:
        """The other settings of this model's provider that are set."""
        return self.provider_settings.get(name.provider, {})

    def base_url(self, name: ModelName) -> str:
        """The address for this model. Raises ModelNotConfigured naming the setting."""
        url = self.base_urls.get(name.provider) or name.of.public
        if url is None:
            address = self.setting_namer(name)(ADDRESS)
            raise ModelNotConfigured(
                f"{name} needs an address: set {address} where the workers run"
            )
        return url.rstrip("/")

    def is_public(self, name: ModelName) -> bool:
        """Whether the address is the provider's public one, which is https and surely right."""
        return self.base_url(name) == name.of.public and name.of.public.startswith("https://")

    def server(self, name: ModelName, store: CapabilityStore) -> ModelServer:
        """The server of a model, with the settings of the operator."""
        return ModelServer(
            str(name),
            store,
            override=Capabilities(**_of_model(self.capabilities, name)),
            headers=_of_model(self.headers, name),
            body=_of_model(self.bodies, name),
        )

    def context(self, name: ModelName, profile: Profile) -> int | None:
        """The tokens of a request with its reply, by the settings and the model's `profile`.

        None: not known, and the provider refuses a request that is too long.
        """
        limits = filter(None, (self.context_tokens, profile.get("max_input_tokens")))
        return min(limits, default=name.of.context)

    def output_limit(self, name: ModelName, profile: Profile) -> OutputLimit:
        """The limit on output tokens of one reply."""
        model_limit: int | None = profile.get("max_output_tokens")
        return OutputLimit(self.max_output_tokens, model_limit, name.of.thinking_tokens(name.model))


def _of_model(settings: ByModel[T], name: ModelName) -> dict[str, T]:
    """The settings of a model. Those for all models of its provider come first, and its own replace
    them."""
    return {**settings.get(f"{name.provider}:*", {}), **settings.get(str(name), {})}
