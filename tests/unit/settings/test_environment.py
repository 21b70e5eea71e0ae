"""A process has only the variables on the list; dropped variables of libraries are named."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import AliasChoices, ValidationError

from settings.client import child_environment, isolated_environment
from settings.providers import ProviderSettings
from settings.starting.environment import (
    DROPPED,
    is_allowed,
    library_variables,
    sends_data,
    unusable_proxies,
)
from settings.starting.provenance import variable
from settings.starting.sections import SECTIONS
from settings.starting.unknown import unknown_settings

LIBRARIES = (
    *(
        "langsmith",
        "langchain",
        "langchain_core",
        "langgraph",
        "langchain_groq",
        "langchain_openai",
    ),
    *("langchain_anthropic", "langchain_deepseek", "langchain_openrouter", "langchain_ollama"),
    *(
        "langchain_mistralai",
        "langchain_google_genai",
        "groq",
        "openai",
        "anthropic",
        "ollama",
        "google/genai",
        "httpx",
    ),
    *("celery", "kombu", "billiard", "flower", "redis", "fastapi", "uvicorn", "pydantic"),
)
CLEAN = """
import json, os, subprocess
from settings.starting.environment import clean_environment
clean_environment()
child = subprocess.run(["env", "-0"], capture_output=True, text=True).stdout
of_child = [line.partition("=")[0] for line in child.split(chr(0))]
print(json.dumps([dict(os.environ), of_child]))
"""
LOADED = """
import sys
before = set(sys.modules)
import api.__main__, worker.__main__, cli.main
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(loaded - set(sys.stdlib_module_names)))
"""


@pytest.fixture(autouse=True)
def _no_variables_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in library_variables():
        monkeypatch.delenv(name)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def cleaned(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that remain of an environment. Fails if a child process has other variables."""
    argv = [sys.executable, "-c", CLEAN]
    output = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=True)
    environment_kept, of_child = json.loads(output.stdout)
    assert set(filter(None, of_child)) == set(environment_kept)
    return environment_kept


def test_only_variables_on_the_list_remain() -> None:
    allowed = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nowhere",
        "LC_ALL": "C.UTF-8",
        "fettle_port": "1",
        "GROQ_API_KEY": "k",
        "https_proxy": "http://proxy:1",
        "SSL_CERT_FILE": "/a.pem",
    }
    libraries = ["CELERY_BROKER_URL", "GROQ_LOG", "LANGSMITH_TRACING"]
    dropped = {
        **dict.fromkeys(libraries, "debug"),
        "LANGCHAIN_TRACING_V2": "false",
        "EXAMPLE": "1",
        "GIT_DIR": "/other",
    }
    remaining = cleaned({**allowed, **dropped})
    assert remaining.pop(DROPPED) == ",".join(libraries)
    assert {name: remaining[name] for name in allowed} == allowed
    assert not dropped.keys() & remaining.keys()
    again = cleaned({**remaining, DROPPED: ",".join(libraries), "GROQ_PROXY": "http://proxy"})
    assert again[DROPPED] == ",".join(sorted([*libraries, "GROQ_PROXY"]))


def test_entry_points_clean_the_environment_before_they_load_a_library() -> None:
    argv = [sys.executable, "-c", LOADED]
    output = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert output.stdout == "['api', 'cli', 'settings', 'worker']\n"


def test_every_setting_is_on_the_list() -> None:
    for _, kind in SECTIONS:
        for name, field in kind.model_fields.items():
            alias = field.validation_alias
            aliases = alias.choices if isinstance(alias, AliasChoices) else ()
            for each in (variable(kind, name, field), *map(str, aliases)):
                assert is_allowed(each) or each == name, each


def test_no_other_variable_of_a_library_is_on_the_list() -> None:
    read = re.compile(r"(?:environ(?:\.get\(|\[)|getenv\(|from_env\()\s*\[?[\"'](\w+)[\"']")
    names_found: set[str] = set()
    for library in LIBRARIES:
        paths = list(Path(sysconfig.get_path("purelib"), library).rglob("*.py"))
        assert paths, library
        for path in paths:
            names_found.update(read.findall(path.read_text(errors="replace")))
    assert {"CELERY_BROKER_URL", "LANGSMITH_ENDPOINT", "GROQ_LOG"} <= names_found
    of_providers = {
        str(name)
        for field in ProviderSettings.model_fields.values()
        if isinstance(field.validation_alias, AliasChoices)
        for name in field.validation_alias.choices
    }
    allowed = {name for name in names_found if is_allowed(name)} - of_providers
    assert allowed <= {"SSL_CERT_FILE", "SSL_CERT_DIR", "HOME", "PATH", "TERM", "COLORTERM"}


@pytest.mark.parametrize(
    ("name", "sends"),
    [
        ("LANGSMITH_TRACING", True),
        ("LANGCHAIN_TRACING_V2", True),
        ("LANGSMITH_RUNS_ENDPOINTS", True),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", True),
        ("ANTHROPIC_OPEN_TELEMETRY", True),
        ("SENTRY_DSN", True),
        ("OTEL_SERVICE_NAME", False),
        ("ANTHROPIC_CUSTOM_HEADERS", False),
        ("GOOGLE_GENAI_CLIENT_MODE", False),
        ("CELERY_CONFIG_MODULE", False),
        ("AWS_ENDPOINT_URL", False),
        ("SSLKEYLOGFILE", False),
        ("LC_OUTPUT_VERSION", False),
        ("FASTAPI_OTEL_AUTO_CONFIGURE", True),
    ],
)
def test_variables_of_libraries_are_named(
    monkeypatch: pytest.MonkeyPatch, name: str, sends: bool
) -> None:
    monkeypatch.setenv(name, "on")
    assert library_variables() == [name]
    assert sends_data(name) is sends
    assert name not in child_environment({})
    assert name not in isolated_environment({})
    for off in ("", "0", "False", "none"):
        monkeypatch.setenv(name, off)
        assert library_variables() == []
    monkeypatch.delenv(name)
    monkeypatch.setenv(DROPPED, name)
    assert library_variables() == [name]
    assert unknown_settings() == []


@pytest.mark.parametrize(
    ("env", "unusable"),
    [
        ({"HTTPS_PROXY": "http://proxy:3128", "http_proxy": "https://proxy"}, []),
        ({"HTTPS_PROXY": "proxy:3128", "ALL_PROXY": ""}, []),
        ({"HTTPS_PROXY": "http://me:a@b:hush@[::1"}, [("HTTPS_PROXY", "malformed")]),
        ({"HTTPS_PROXY": "http://proxy:hush"}, [("HTTPS_PROXY", "malformed")]),
        ({"ALL_PROXY": "socks5://proxy:1080"}, [("ALL_PROXY", "socks5")]),
        ({"https_proxy": "SOCKS://proxy:1080"}, [("https_proxy", "socks")]),
        (
            {"all_proxy": "socks5h://proxy", "HTTPS_PROXY": "http://proxy"},
            [("all_proxy", "socks5h")],
        ),
        (
            {"ALL_PROXY": "socks5://proxy", "HTTPS_PROXY": "http://p", "http_proxy": "http://p"},
            [],
        ),
    ],
)
def test_a_proxy_speaks_http(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], unusable: list[tuple[str, str]]
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert unusable_proxies() == unusable
    assert ("ALL_PROXY" in cleaned({"PATH": "/bin", **env})) is (
        "ALL_PROXY" in env and len(env) < 3
    )
    if unusable:
        with pytest.raises(ValidationError, match=f"{unusable[0][0]} names a"):
            ProviderSettings()
    else:
        ProviderSettings()
