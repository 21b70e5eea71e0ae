"""The providers of models, one row each, with the names of their settings.

`settings.providers` makes the settings from the rows, and `settings.starting.environment` the list
of variables that a process may have. For this reason, this module imports only the standard
library. `agents.models.providers` declares how a provider is called: its client, wire format and
public address. The name of the provider in `provider:model` connects the two; agents do not know
variables, and get the names that their errors repeat with the other options.
"""

from __future__ import annotations

from dataclasses import dataclass

KEY, ADDRESS = "api_key", "base_url"
"""The settings that each provider has, as `FETTLE_<PROVIDER>_<NAME>`."""


@dataclass(frozen=True, slots=True)
class ExtraSetting:
    """A setting that one provider has: `FETTLE_<PROVIDER>_<NAME>`."""

    name: str
    description: str
    other_names: tuple[str, ...] = ()
    """The names that the provider's library has for it."""


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """A provider. Its settings are `FETTLE_NAME_API_KEY`, `FETTLE_NAME_BASE_URL` and
    `FETTLE_RATE_NAME`."""

    name: str
    """The provider in the names of its settings: `groq` in `FETTLE_RATE_GROQ`."""
    title: str
    """The provider in descriptions: `another address for <title>'s API`."""
    prefix: str = ""
    """The provider in `prefix:model`, if it is not `name`."""
    key: str = ""
    """The variable of the key, if it has the provider's own name."""
    other_addresses: tuple[str, ...] = ()
    """The names that the provider's library and LangChain have for the address. If a user has set
    such a variable, code must not go to the public address instead."""
    of_key: str = ""
    """Description of the key, if it is not always needed."""
    of_address: str = ""
    """Description of the address, if there is no public one."""
    settings: tuple[ExtraSetting, ...] = ()

    @property
    def provider(self) -> str:
        """The provider in `provider:model`."""
        return self.prefix or self.name

    def variable(self, setting: str) -> str:
        """The variable of KEY, ADDRESS or an extra setting."""
        if setting == KEY and self.key:
            return self.key
        return f"FETTLE_{self.name}_{setting}".upper()

    def field(self, setting: str) -> str:
        """The name of KEY, ADDRESS or an extra setting in a file and as a field."""
        return self.variable(setting).removeprefix("FETTLE_").lower()

    @property
    def rate_field(self) -> str:
        """The rate's name in a file and as a field."""
        return f"rate_{self.name}"

    def variables(self) -> tuple[str, ...]:
        """The variables that do not begin with FETTLE_."""
        own_key = (self.key,) if self.key else ()
        return (
            *own_key,
            *self.other_addresses,
            *(name for setting in self.settings for name in setting.other_names),
        )


PROVIDERS = (
    ProviderRow(
        "groq", "Groq", key="GROQ_API_KEY", other_addresses=("GROQ_API_BASE", "GROQ_BASE_URL")
    ),
    ProviderRow(
        "google",
        "Gemini",
        prefix="google_genai",
        key="GOOGLE_API_KEY",
        other_addresses=("GOOGLE_GEMINI_BASE_URL",),
    ),
    ProviderRow(
        "openai",
        "OpenAI",
        key="OPENAI_API_KEY",
        other_addresses=("OPENAI_API_BASE", "OPENAI_BASE_URL"),
    ),
    ProviderRow(
        "anthropic",
        "Anthropic",
        key="ANTHROPIC_API_KEY",
        other_addresses=("ANTHROPIC_API_URL", "ANTHROPIC_BASE_URL"),
    ),
    ProviderRow(
        "deepseek", "DeepSeek", key="DEEPSEEK_API_KEY", other_addresses=("DEEPSEEK_API_BASE",)
    ),
    ProviderRow(
        "openrouter",
        "OpenRouter",
        key="OPENROUTER_API_KEY",
        other_addresses=("OPENROUTER_API_BASE",),
    ),
    ProviderRow("mistral", "Mistral", key="MISTRAL_API_KEY", other_addresses=("MISTRAL_BASE_URL",)),
    ProviderRow(
        "azure",
        "Azure OpenAI",
        key="AZURE_OPENAI_API_KEY",
        other_addresses=("AZURE_OPENAI_ENDPOINT",),
        of_address="endpoint of Azure OpenAI, as `https://NAME.openai.azure.com`: it answers for "
        "`azure:DEPLOYMENT`",
        settings=(
            ExtraSetting(
                "api_version",
                "API version of Azure OpenAI, if not `2025-04-01-preview`",
                ("OPENAI_API_VERSION",),
            ),
            ExtraSetting(
                "token_file",
                "file with a Microsoft Entra token for Azure OpenAI, in place of the key; it is "
                "read before each request, and another process has to renew it",
            ),
        ),
    ),
    ProviderRow(
        "vertex",
        "Vertex AI",
        other_addresses=("GOOGLE_VERTEX_BASE_URL",),
        of_key="API key for Vertex AI, in place of credentials",
        settings=(
            ExtraSetting(
                "credentials",
                "file with Google Cloud credentials for Vertex AI (service account, workload "
                "identity federation or `gcloud auth application-default login`), or `metadata`: "
                "those of the machine or the pod",
                ("GOOGLE_APPLICATION_CREDENTIALS",),
            ),
            ExtraSetting(
                "project",
                "Google Cloud project for Vertex AI, if the file with credentials names none",
                ("GOOGLE_CLOUD_PROJECT",),
            ),
            ExtraSetting(
                "location",
                "location of Vertex AI, such as `europe-west4`, if not `global`",
                ("GOOGLE_CLOUD_LOCATION",),
            ),
        ),
    ),
    ProviderRow(
        "ollama",
        "Ollama",
        other_addresses=("OLLAMA_HOST",),
        of_key="key for Ollama, if a proxy before it wants one",
        of_address="address of Ollama, if not port 11434 of this host",
    ),
    ProviderRow(
        "compatible",
        "the server of `compatible:` models",
        of_key="key for the server of `compatible:` models, if it wants one",
        of_address="address of a server that speaks OpenAI's protocol (vLLM, llama.cpp, LiteLLM), "
        "with its `/v1`: it answers for `compatible:MODEL`",
    ),
)
"""The providers, in the order of docs/configuration.md."""


def provider_variable(provider: str, setting: str) -> str:
    """The variable of KEY, ADDRESS or an extra setting of a provider in `provider:model`."""
    row = next(row for row in PROVIDERS if row.provider == provider)
    return row.variable(setting)
