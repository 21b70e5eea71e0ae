"""Settings of the providers of models: keys and addresses. They are read nowhere else."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import AliasChoices, BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from settings.base import FettleSettings
from settings.reading.addresses import HttpUrl, OptionalHttpUrl, none_if_empty
from settings.starting.environment import library_variables, unusable_proxies

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
OLLAMA_PORT = 11_434
_BY_PROXY = "Set HTTPS_PROXY"
_GEMINI = "Fettle asks the Gemini API: set FETTLE_GOOGLE_BASE_URL"
NOT_READ = (
    ("groq", "GROQ_PROXY", _BY_PROXY),
    ("openai", "OPENAI_PROXY", _BY_PROXY),
    ("anthropic", "ANTHROPIC_PROXY", _BY_PROXY),
    ("google_genai", "GOOGLE_GENAI_USE_VERTEXAI", _GEMINI),
    ("google_genai", "GOOGLE_GENAI_USE_ENTERPRISE", _GEMINI),
)
"""Other ways of LangChain's users to send requests elsewhere, by provider, and what to do."""
_MS = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_RATE = r"^([1-9]\d{0,4})/(second|minute|hour|day)(?:, ?([1-9]\d{0,9}) tokens)?$"


def _key(variable: str, who: str) -> Any:
    names = AliasChoices(variable, variable.lower())
    return Field(None, validation_alias=names, description=f"key for {who}")


def _address(name: str, description: str, *others: str) -> Any:
    """`others`: what the provider's own library and LangChain call it. A user who has set one of
    these means it: his code must not go to the public address instead."""
    mine = f"{name}_base_url"
    names = AliasChoices(f"FETTLE_{mine.upper()}", mine, *others)
    also = f"; also read: {', '.join(f'`{other}`' for other in others)}" if others else ""
    return Field(None, validation_alias=names, description=description + also)


def _ollama(value: Any) -> Any:
    """What Ollama's own server and client take: `host`, `host:port`, or an address. A server that
    listens on all addresses is reached on loopback."""
    url = none_if_empty(value)
    if isinstance(url, str) and "://" not in url:
        port = "" if re.search(r":\d+$", url) else f":{OLLAMA_PORT}"
        url = f"http://{url}{port}"
    return url.replace("//0.0.0.0", "//127.0.0.1") if isinstance(url, str) else url


OllamaAddress = Annotated[HttpUrl | None, BeforeValidator(_ollama)]


class ProviderSettings(FettleSettings):
    """A provider without a key is not asked, but for those on machines of one's own.

    A variable that is empty, as compose sends it, hides no other name of the same setting.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True)

    groq_api_key: SecretStr | None = _key("GROQ_API_KEY", "Groq")
    groq_base_url: OptionalHttpUrl = _address(
        "groq", "another address for Groq's API", "GROQ_API_BASE", "GROQ_BASE_URL"
    )
    google_api_key: SecretStr | None = _key("GOOGLE_API_KEY", "Gemini")
    google_base_url: OptionalHttpUrl = _address(
        "google", "another address for Gemini's API", "GOOGLE_GEMINI_BASE_URL"
    )
    openai_api_key: SecretStr | None = _key("OPENAI_API_KEY", "OpenAI")
    openai_base_url: OptionalHttpUrl = _address(
        "openai", "another address for OpenAI's API", "OPENAI_API_BASE", "OPENAI_BASE_URL"
    )
    anthropic_api_key: SecretStr | None = _key("ANTHROPIC_API_KEY", "Anthropic")
    anthropic_base_url: OptionalHttpUrl = _address(
        "anthropic",
        "another address for Anthropic's API",
        "ANTHROPIC_API_URL",
        "ANTHROPIC_BASE_URL",
    )
    deepseek_api_key: SecretStr | None = _key("DEEPSEEK_API_KEY", "DeepSeek")
    deepseek_base_url: OptionalHttpUrl = _address(
        "deepseek", "another address for DeepSeek's API", "DEEPSEEK_API_BASE"
    )
    openrouter_api_key: SecretStr | None = _key("OPENROUTER_API_KEY", "OpenRouter")
    openrouter_base_url: OptionalHttpUrl = _address(
        "openrouter", "another address for OpenRouter's API", "OPENROUTER_API_BASE"
    )
    ollama_api_key: SecretStr | None = Field(
        None, description="key for Ollama, if a proxy before it wants one"
    )
    ollama_base_url: OllamaAddress = _address(
        "ollama", "address of Ollama, if not port 11434 of this host", "OLLAMA_HOST"
    )
    compatible_api_key: SecretStr | None = Field(
        None, description="key for the server of `compatible:` models, if it wants one"
    )
    compatible_base_url: OptionalHttpUrl = _address(
        "compatible",
        "address of a server that speaks OpenAI's protocol (vLLM, llama.cpp, LiteLLM), with its "
        "`/v1`: it answers for `compatible:MODEL`",
    )

    @model_validator(mode="after")
    def _nothing_is_ignored(self) -> Self:
        keys, dropped = self.api_keys(), library_variables()
        for provider, name, instead in NOT_READ:
            if provider in keys and name in dropped:
                raise ValueError(
                    f"{name} is set, and Fettle does not read it: requests would not go where it "
                    f"says. {instead}, or unset it for the worker"
                )
        return self

    @model_validator(mode="after")
    def _proxies_are_usable(self) -> Self:
        for name, kind in unusable_proxies():
            raise ValueError(
                f"{name} names a {kind} proxy, and Fettle can use http and https proxies only: set "
                "HTTPS_PROXY to one of those, or unset it for the worker"
            )
        return self

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
