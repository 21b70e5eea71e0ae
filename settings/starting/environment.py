"""The environment of every process of Fettle: the variables on one list, and no others.

Libraries read variables that users did not set for Fettle: addresses for traces, a broker, a level
of logs. An entry point calls `clean_environment` before it imports any library, so neither a
library nor a child process sees another variable. For this reason, this module and the one that it
imports use only the standard library.

See ADR 62.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib import import_module
from typing import NoReturn
from urllib.parse import urlsplit

from settings.starting.provider_rows import PROVIDERS

ALLOWED: Mapping[str, tuple[str, ...]] = {
    "Settings of Fettle": ("FETTLE_*",),
    "Keys and addresses of providers": tuple(name for row in PROVIDERS for name in row.variables()),
    "The role of a machine or container, for `FETTLE_BLOBS_BUCKET` without keys": (
        *("AWS_CONTAINER_CREDENTIALS_*", "AWS_CONTAINER_AUTHORIZATION_TOKEN*"),
        *("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME"),
    ),
    "The system and the user": (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TMP", "TEMP", "XDG_*"),
        *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_MONETARY"),
        *("LC_NUMERIC", "LC_TIME", "TZ", "TZDIR"),
    ),
    "The interpreter, and the C libraries under it": (
        *("PYTHON[A-Z]*", "PYTHON_COLORS", "PYTHON_CPU_COUNT", "PYTHON_GIL"),
        *("LD_*", "MALLOC_*", "GLIBC_TUNABLES", "FAKETIME*"),
    ),
    "TLS": ("SSL_CERT_FILE", "SSL_CERT_DIR", "OPENSSL_*"),
    "A proxy": ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    "The terminal": (
        *("TERM", "TERMINFO*", "TERM_PROGRAM*", "COLORTERM", "COLUMNS", "LINES", "TTY_*"),
        *("NO_COLOR", "FORCE_COLOR", "CLICOLOR*", "TMUX*"),
        *("_FETTLE_COMPLETE", "COMP_WORDS", "COMP_CWORD"),
    ),
    "The user's editor, git and pip, which some commands start": (
        *("EDITOR", "VISUAL", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "VSCODE_IPC_HOOK_CLI"),
        *("DBUS_SESSION_BUS_ADDRESS", "GIT_CONFIG*", "GIT_CEILING_DIRECTORIES", "PIP_*"),
    ),
}
"""Patterns of names, in capitals, by purpose. Capitals do not count in a name, as in settings."""

TELEMETRY = (
    *("LANGSMITH_*", "LANGCHAIN_*", "ANTHROPIC_OPEN_TELEMETRY*", "FASTAPI_OTEL_*", "SENTRY_*"),
    *("OTEL_EXPORTER_*", "OTEL_TRACES_EXPORTER", "OTEL_LOGS_EXPORTER", "OTEL_METRICS_EXPORTER"),
)
"""Variables that have a library send the content of jobs to another service."""

OF_LIBRARIES = (
    *TELEMETRY,
    *("LANGGRAPH_*", "OTEL_*", "CELERY_*", "KOMBU_*", "FLOWER_*", "PYDANTIC_*", "TIKTOKEN_*"),
    *("GROQ_*", "OPENAI_*", "ANTHROPIC_*", "GOOGLE_*", "GEMINI_*", "DEEPSEEK_*", "OPENROUTER_*"),
    *("MISTRAL_*", "AZURE_*", "GCE_METADATA_*", "HF_*"),
    *("OLLAMA_*", "AWS_*", "FASTAPI_*", "PROMETHEUS_*", "LC_OUTPUT_VERSION", "SSLKEYLOGFILE"),
)
"""Variables that a library of Fettle would read. Fettle reports only these when it drops them: a
shell has many others, which would have had no effect."""

OFF = frozenset({"", "0", "false", "no", "off", "none"})
"""Values, in small letters, that switch a variable off."""

DROPPED = "FETTLE_DROPPED_VARIABLES"
"""Names the dropped variables to this process and to its children. Set by `clean_environment`."""


def launch(module: str) -> NoReturn:
    """Clean the environment of this process, then import `module`, call its `main`, and exit."""
    clean_environment()
    sys.exit(import_module(module).main())


def clean_environment() -> None:
    """Remove each variable that is not on the list from this process."""
    names = library_variables()
    for name in [name for name in os.environ if not is_allowed(name)]:
        del os.environ[name]
    for name in _unused_proxies():
        del os.environ[name]
    if names:
        os.environ[DROPPED] = ",".join(names)


def allowed_environment() -> dict[str, str]:
    """The variables of this process that its children may have."""
    return {name: value for name, value in os.environ.items() if is_allowed(name)}


def is_allowed(name: str) -> bool:
    """Whether a variable is on the list."""
    return any(_matches(name, patterns) for patterns in ALLOWED.values())


def library_variables() -> list[str]:
    """Names of variables that a library would follow and that Fettle drops: those that this process
    has, and those that it or its parent process was started with. Sorted; never a value."""
    dropped = {name for name in os.environ.get(DROPPED, "").split(",") if name}
    present = {
        name
        for name, value in os.environ.items()
        if value.strip().lower() not in OFF
        and not is_allowed(name)
        and _matches(name, OF_LIBRARIES)
    }
    return sorted(dropped | present)


def sends_data(name: str) -> bool:
    """Whether a library variable would have sent the content of jobs to another service."""
    return _matches(name, TELEMETRY)


def unusable_proxies() -> list[tuple[str, str]]:
    """The variables that name a proxy Fettle cannot use, each with the kind of its proxy."""
    present = {name: value for name, value in os.environ.items() if name.upper() in _PROXIES}
    unused = _unused_proxies()
    kinds = {name: _kind_of(value) for name, value in present.items() if name not in unused}
    return sorted((name, kind) for name, kind in kinds.items() if kind not in _USABLE)


_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_USABLE = ("http", "https")


def _kind_of(address: str) -> str:
    """The scheme of a proxy's address. The rest of the address must not be shown."""
    if not address.strip():
        return _USABLE[0]
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        complete = parts.hostname and parts.port != 0 and len(address.split()) == 1
    except ValueError:
        return "malformed"
    return parts.scheme if complete else "malformed"


def _unused_proxies() -> list[str]:
    """ALL_PROXY replaces HTTP_PROXY and HTTPS_PROXY; it has no effect if both are set."""
    present = {name.upper(): name for name, value in os.environ.items() if value.strip()}
    if not {"HTTP_PROXY", "HTTPS_PROXY"} <= present.keys():
        return []
    return [name for name in os.environ if name.upper() == "ALL_PROXY"]


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name.upper(), pattern) for pattern in patterns)
