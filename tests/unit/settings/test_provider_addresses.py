"""The worker uses the provider addresses that a user's environment names, or it does not start."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import ValidationError

from settings.providers import NOT_READ, ProviderSettings
from settings.starting.provider_rows import PROVIDERS

URL = "https://models.internal/v1"
LIBRARIES = (
    *("langchain_groq", "langchain_openai", "langchain_anthropic", "langchain_deepseek"),
    *("langchain_openrouter", "langchain_ollama", "langchain_google_genai"),
    "langchain_mistralai",
    *("groq", "openai", "anthropic", "ollama", "google.genai"),
)
_ADDRESS = re.compile(r"[\"']([A-Z_]+_(?:API_BASE|BASE_URL|API_URL|HOST|PROXY|ENDPOINT))[\"']")
_OF_OTHERS = re.compile(
    r"AWS|BEDROCK|FOUNDRY|ANTHROPIC_(?:VERTEX|GOOGLE)|MTLS|^(?:ALL|HTTPS?)_PROXY"
)
"""Variables for other services of the same libraries, which Fettle does not use, and httpx's
variables.
"""


def field_by_name() -> dict[str, str]:
    """The settings field for each variable that is read."""
    return {
        str(name): field
        for field, info in ProviderSettings.model_fields.items()
        if field.endswith("_base_url")
        for name in info.validation_alias.choices  # type: ignore[union-attr]
    }


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "fettle.toml").touch()
    monkeypatch.setenv("FETTLE_CONFIG", str(tmp_path / "fettle.toml"))


def test_every_name_that_the_libraries_read_is_read_or_refused() -> None:
    variables: set[str] = set()
    for library in LIBRARIES:
        spec = find_spec(library)
        assert spec is not None
        assert spec.origin is not None
        for path in Path(spec.origin).parent.rglob("*.py"):
            variables.update(_ADDRESS.findall(path.read_text(errors="replace")))
    assert "GROQ_API_BASE" in variables
    unread = (
        variables - {name.upper() for name in field_by_name()} - {name for _, name, _ in NOT_READ}
    )
    assert [name for name in sorted(unread) if not _OF_OTHERS.search(name)] == []


@pytest.mark.parametrize("name", sorted(field_by_name()))
def test_each_variable_is_read(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, URL)
    assert getattr(ProviderSettings(), field_by_name()[name]) == URL


def test_fettles_variable_comes_first_and_an_empty_variable_is_unset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://other.internal")
    monkeypatch.setenv("FETTLE_OPENAI_BASE_URL", URL)
    monkeypatch.setenv("GROQ_API_BASE", "")
    assert ProviderSettings().base_urls() == {"openai": URL}
    monkeypatch.setenv("GROQ_API_BASE", "models.internal")
    with pytest.raises(ValidationError):
        ProviderSettings()


def test_an_empty_variable_of_fettle_hides_no_other_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FETTLE_GROQ_BASE_URL", "")
    monkeypatch.setenv("GROQ_API_BASE", URL)
    assert ProviderSettings().base_urls() == {"groq": URL}


def test_a_file_has_the_names_in_lower_case(tmp_path: Path) -> None:
    text = f'groq_base_url = "{URL}"\ngroq_api_key = "k"\n'
    (tmp_path / "fettle.toml").write_text(text)
    settings = ProviderSettings()
    assert (settings.base_urls(), settings.api_keys()) == ({"groq": URL}, {"groq": "k"})


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("gpu-box", "http://gpu-box:11434"),
        ("gpu-box:80", "http://gpu-box:80"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("http://0.0.0.0:9", "http://127.0.0.1:9"),
        ("[::1]:9", "http://[::1]:9"),
        ("https://ollama.internal", "https://ollama.internal"),
    ],
)
def test_ollama_is_named_as_its_server_names_it(
    monkeypatch: pytest.MonkeyPatch, host: str, url: str
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert ProviderSettings().model_dump()["ollama_base_url"] == url


@pytest.mark.parametrize(
    ("provider", "name", "variable"),
    [
        (row.provider, setting.name, variable)
        for row in PROVIDERS
        for setting in row.settings
        for variable in (f"FETTLE_{row.name}_{setting.name}".upper(), *setting.other_names)
    ],
)
def test_the_other_settings_of_a_provider_also_have_the_names_of_its_library(
    monkeypatch: pytest.MonkeyPatch, provider: str, name: str, variable: str
) -> None:
    monkeypatch.setenv(variable, " ")
    assert ProviderSettings().provider_settings()[provider] == {}
    monkeypatch.setenv(variable, "some-value")
    assert ProviderSettings().provider_settings()[provider] == {name: "some-value"}


def test_a_key_has_the_name_of_the_provider_in_a_file_too(tmp_path: Path) -> None:
    text = 'azure_openai_api_key = "k"\nvertex_api_key = "v"\nazure_token_file = "/run/token"\n'
    (tmp_path / "fettle.toml").write_text(text)
    settings = ProviderSettings()
    assert settings.api_keys() == {"azure": "k", "vertex": "v"}
    assert settings.provider_settings()["azure"] == {"token_file": "/run/token"}


@pytest.mark.parametrize(("provider", "name", "instead"), NOT_READ)
def test_a_variable_that_fettle_does_not_follow_is_refused_if_it_would_matter(
    monkeypatch: pytest.MonkeyPatch, provider: str, name: str, instead: str
) -> None:
    monkeypatch.setenv(name, "true")
    ProviderSettings()
    monkeypatch.setenv(f"{provider.removesuffix('_genai').upper()}_API_KEY", "k")
    with pytest.raises(ValidationError, match=f"{name} is set.* {instead}"):
        ProviderSettings()
    monkeypatch.setenv(name, "false")
    ProviderSettings()
