"""Settings of the command line, and of the processes that `fettle up` and `fettle demo` start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import EnvSettingsSource

from settings.base import DEVELOPMENT_KEY, FettleSettings, ValueOrigin
from settings.reading.addresses import HttpUrl, http_origin, parse_http
from settings.reading.config_file import VARIABLE, named_file, read_file, user_file
from settings.starting.environment import allowed_environment
from settings.starting.provider_rows import KEY, PROVIDERS

TAKEN_OVER = (
    "FETTLE_MODEL",
    "FETTLE_*_MODEL",  # of each role
    "FETTLE_*_ESCALATION",
    "FETTLE_CONTEXT_TOKENS",
    *(f"FETTLE_{row.name.upper()}_*" for row in PROVIDERS),
    "FETTLE_SANDBOX",
    "FETTLE_SANDBOX_*",
    "FETTLE_REPO_HOSTS",
    "FETTLE_REPO_CREDENTIALS",
    "FETTLE_REPO_KNOWN_HOSTS",
    "FETTLE_SETUP_*",
)
"""The settings that a temporary deployment takes over, or patterns of them: the models and their
addresses, the sandbox of this machine, the hosts of repositories and of their dependencies.
FETTLE_MODELS, the allow-list of the API, is not among them."""


class ClientSettings(FettleSettings):
    """The address of the service, and the key to it."""

    url: HttpUrl = Field(
        "http://127.0.0.1:8000", description="address of the service that the command line calls"
    )
    api_key: SecretStr = Field(
        SecretStr(DEVELOPMENT_KEY), description="the key it sends in X-API-Key"
    )

    @classmethod
    def read_file(cls) -> tuple[ValueOrigin, dict[str, Any]]:
        """The named file, else the user's file. Raises ConfigFileError."""
        if named_file() is None:
            return ValueOrigin.USER_FILE, read_file(user_file())
        return super().read_file()

    @model_validator(mode="after")
    def _stored_key_goes_to_its_own_service(self) -> Self:
        """A key in a file is for the URL in that file: `--url` and FETTLE_URL must not send it to
        another service.

        See ADR 63.
        """
        _, stored = self.read_file()
        key = self.api_key.get_secret_value()
        if stored.get("api_key") != key or "api_key" in EnvSettingsSource(type(self))():
            return self
        key_url = str(stored.get("url", type(self).model_fields["url"].default))
        if http_origin(parse_http(key_url)) != http_origin(self.url):
            raise ValueError(
                f"the API key in {named_file() or user_file()} belongs to {key_url} and is not "
                f"sent to {self.url}: set FETTLE_API_KEY to a key of that service"
            )
        return self


class UpSettings(FettleSettings):
    """How many workers, and where Flower listens."""

    workers: int = Field(1, ge=1, description="worker processes that `fettle up` starts")
    flower_port: int = Field(5555, ge=1, le=65_535, description="port of Flower, on loopback")
    flower_password: SecretStr | None = Field(
        None, description="password of Flower's user `fettle`; unset: a new one at each start"
    )


def child_environment(values: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child process: the variables of this process that it may have, and
    `values`, which replace variables of the same name."""
    return {**allowed_environment(), **values}


def isolated_environment(values: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child process that does not use this deployment's settings and file:
    settings that are not in `values` have their defaults."""
    variables = {
        name: value for name, value in child_environment({}).items() if not _of_deployment(name)
    }
    return {**variables, VARIABLE: "", **values}


def _of_deployment(name: str) -> bool:
    taken_over = any(fnmatchcase(name, pattern) for pattern in TAKEN_OVER)
    return name.startswith("FETTLE_") and not taken_over


def model_keys() -> list[str]:
    """The providers that have a key, by the name of their variable."""
    variables = (row.variable(KEY) for row in PROVIDERS)
    return [variable for variable in variables if os.environ.get(variable)]
