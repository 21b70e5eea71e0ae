"""Settings of the providers of models: keys, addresses and rates. They are read nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, TypeVar, cast

from pydantic import (
    AliasChoices,
    Field,
    SecretStr,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_settings import SettingsConfigDict

from settings.base import FettleSettings
from settings.reading.addresses import OptionalHttpUrl, none_if_empty
from settings.starting.environment import library_variables, unusable_proxies
from settings.starting.provider_rows import ADDRESS, KEY, PROVIDERS, ProviderRow

OLLAMA_PORT = 11_434
_BY_PROXY = "Set HTTPS_PROXY"
_GEMINI = "To use Vertex AI, name vertex: models"
NOT_READ = (
    ("groq", "GROQ_PROXY", _BY_PROXY),
    ("openai", "OPENAI_PROXY", _BY_PROXY),
    ("anthropic", "ANTHROPIC_PROXY", _BY_PROXY),
    ("google_genai", "GOOGLE_GENAI_USE_VERTEXAI", _GEMINI),
    ("google_genai", "GOOGLE_GENAI_USE_ENTERPRISE", _GEMINI),
)
"""Variables with which LangChain's users send requests to other addresses: the provider, the
variable, and the remedy."""
_MS = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_RATE = r"^([1-9]\d{0,4})/(second|minute|hour|day)(?:, ?([1-9]\d{0,9}) tokens)?$"


Kind = TypeVar("Kind", bound=type[FettleSettings])


def _with_fields(fields: Iterable[tuple[str, tuple[Any, Any]]]) -> Callable[[Kind], Kind]:
    """Adds fields to a class of settings: the name of each, its type and its `Field`."""

    def decorate(kind: Kind) -> Kind:
        names: dict[str, Any] = {
            "__module__": kind.__module__,
            "__doc__": kind.__doc__,
            **dict(fields),
        }
        return cast("Kind", create_model(kind.__name__, __base__=kind, **names))

    return decorate


def _keys_and_addresses() -> Iterator[tuple[str, tuple[Any, Any]]]:
    for row in PROVIDERS:
        yield row.field(KEY), (SecretStr | None, _key(row))
        yield row.field(ADDRESS), (OptionalHttpUrl, _address(row))
        for extra in row.settings:
            field = _field(row, extra.name, extra.description, extra.other_names)
            yield row.field(extra.name), (str | None, field)


def _key(row: ProviderRow) -> Any:
    names = AliasChoices(row.key, row.field(KEY)) if row.key else None
    description = row.of_key or f"key for {row.title}"
    return Field(None, validation_alias=names, description=description)


def _address(row: ProviderRow) -> Any:
    description = row.of_address or f"another address for {row.title}'s API"
    return _field(row, ADDRESS, description, row.other_addresses)


def _field(row: ProviderRow, setting: str, description: str, other_names: tuple[str, ...]) -> Any:
    names = AliasChoices(row.variable(setting), row.field(setting), *other_names)
    if other_names:
        description += f"; also read: {', '.join(f'`{alias}`' for alias in other_names)}"
    return Field(None, validation_alias=names, description=description)


def _ollama(value: Any) -> Any:
    """The address in the forms of Ollama's server and client: `host`, `host:port`, or an address. A
    server that listens on all addresses is reached on loopback."""
    url = none_if_empty(value)
    if isinstance(url, str) and "://" not in url:
        port = "" if re.search(r":\d+$", url) else f":{OLLAMA_PORT}"
        url = f"http://{url}{port}"
    return url.replace("//0.0.0.0", "//127.0.0.1") if isinstance(url, str) else url


@_with_fields(_keys_and_addresses())
class ProviderSettings(FettleSettings):
    """Keys and addresses of providers. A provider without a key is not used, unless it runs on the
    operator's machines.

    An empty variable, which compose sends for an unset one, hides no other name of its setting.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True)

    @field_validator("ollama_base_url", mode="before", check_fields=False)
    @classmethod
    def _as_ollama_names_it(cls, value: Any) -> Any:
        return _ollama(value)

    @model_validator(mode="after")
    def _nothing_is_ignored(self) -> Self:
        keys, dropped = self.api_keys(), library_variables()
        for provider, name, instead in NOT_READ:
            if provider in keys and name in dropped:
                raise ValueError(
                    f"{name} is set, but Fettle does not read it, so requests would go to another "
                    f"address. {instead}, or unset it for the worker"
                )
        return self

    @model_validator(mode="after")
    def _proxies_are_usable(self) -> Self:
        for name, kind in unusable_proxies():
            raise ValueError(
                f"{name} names a {kind} proxy, but Fettle can use only http and https proxies: set "
                "HTTPS_PROXY to such a proxy, or unset it for the worker"
            )
        return self

    def api_keys(self) -> dict[str, str]:
        """The keys that are set, by provider."""
        values = dict(self)
        secrets = {row.provider: values[row.field(KEY)] for row in PROVIDERS}
        keys = {name: secret.get_secret_value() for name, secret in secrets.items() if secret}
        return {name: key for name, key in keys.items() if key.strip()}

    def base_urls(self) -> dict[str, str]:
        """The addresses that are set, by provider."""
        values = dict(self)
        urls = {row.provider: values[row.field(ADDRESS)] for row in PROVIDERS}
        return {name: url for name, url in urls.items() if url}

    def provider_settings(self) -> dict[str, dict[str, str]]:
        """The extra settings that are set, by provider and name."""
        values = dict(self)
        return {
            row.provider: {
                setting.name: value.strip()
                for setting in row.settings
                if (value := values[row.field(setting.name)] or "").strip()
            }
            for row in PROVIDERS
            if row.settings
        }


def _rates() -> Iterator[tuple[str, tuple[Any, Any]]]:
    for row in PROVIDERS:
        description = (
            f"requests that all workers together send to {row.title}, as `30/minute`; with a "
            "limit of tokens, as `30/minute, 6000 tokens`"
        )
        yield row.rate_field, (str | None, Field(None, pattern=_RATE, description=description))


@_with_fields(_rates())
class RateSettings(FettleSettings):
    """Rates of providers. A provider without a rate gets requests as often as jobs need them."""

    rate_wait_seconds: float = Field(
        600.0,
        gt=0,
        description="how long a request may wait for its turn; beyond it the model counts as "
        "unavailable",
    )

    def rates(self) -> dict[str, tuple[int, int | None, int]]:
        """By provider, as models are named: requests, tokens (None: any number), period in ms."""
        values = dict(self)
        rates: dict[str, tuple[int, int | None, int]] = {}
        for row in PROVIDERS:
            match = re.match(_RATE, values[row.rate_field] or "")
            if match is not None:
                tokens = int(match[3]) if match[3] else None
                rates[row.provider] = (int(match[1]), tokens, _MS[match[2]])
        return rates
