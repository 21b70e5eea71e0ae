"""Gemini, by Vertex AI of Google Cloud."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import httpx
from langchain_core.language_models import BaseChatModel

from agents.errors import ErrorKind, ModelNotConfigured, ModelRefused, ModelUnavailable
from agents.models.providers.google_genai import make_gemini, thinking_tokens
from agents.models.providers.kind import IN_A_PATH, ModelConfig, Provider
from agents.models.streams import GEMINI

METADATA = "metadata"
"""In place of a file: the credentials of the machine or the pod, by Google's metadata server."""

_GLOBAL = "https://aiplatform.googleapis.com"
_MULTI_REGIONS = ("us", "eu")
_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_CREDENTIALS, _PROJECT, _LOCATION = "credentials", "project", "location"
"""The names of settings."""


def _make(config: ModelConfig) -> BaseChatModel:
    if config.api_key:
        return make_gemini(config, vertexai=True, api_key=config.api_key)
    setting = config.name_setting(_CREDENTIALS)
    credentials, own_project = _credentials(config.settings[_CREDENTIALS], setting)
    project = config.settings.get(_PROJECT, own_project)
    if not project:
        raise ModelNotConfigured(
            f"vertex:{config.model} needs a project: set {config.name_setting(_PROJECT)} where the "
            "workers run"
        )
    _refresh_over(credentials, config.sync(), setting)
    location = config.settings.get(_LOCATION, "global")
    return make_gemini(
        replace(config, base_url=_address(config.base_url, location)),
        vertexai=True,
        project=project,
        location=location,
        credentials=credentials,
    )


def _address(base_url: str, location: str) -> str:
    """Each location has an address of its own."""
    if base_url != _GLOBAL or location == "global":
        return base_url
    if location in _MULTI_REGIONS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def _credentials(source: str, setting: str) -> tuple[Any, str | None]:
    """Google's credentials, and the project that their file names. Errors name the `setting`."""
    auth: Any = import_module("google.auth")
    if source == METADATA:
        return import_module("google.auth.compute_engine").Credentials(scopes=_SCOPES), None
    try:
        credentials, project = auth.load_credentials_from_file(source, scopes=_SCOPES)
    except (auth.exceptions.GoogleAuthError, OSError, ValueError) as error:
        raise ModelNotConfigured(f"{setting} cannot be read: {error}") from error
    return credentials, project


def _refresh_over(credentials: Any, http: httpx.Client, setting: str) -> None:
    """Have the credentials get their tokens with our certificates. Google's client does that over
    `requests`, which has its own. Errors name the `setting` of the credentials."""
    refresh: Callable[[Any], None] = credentials.refresh

    def send(
        url: str,
        method: str = "GET",
        body: Any = None,
        headers: Any = None,
        timeout: float | None = None,
        **_options: Any,
    ) -> SimpleNamespace:
        reply = http.request(method, url, content=body, headers=headers, timeout=timeout or 10.0)
        return SimpleNamespace(status=reply.status_code, headers=reply.headers, data=reply.content)

    def refresh_over(_request: Any) -> None:
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415

        try:
            refresh(send)
        except GoogleAuthError as error:
            text = f"no access token for {setting}: {error.args[0] if error.args else error}"
            if error.retryable:
                raise ModelUnavailable(text) from error
            raise ModelRefused(text, status=401, kind=ErrorKind.KEY) from error
        except httpx.TransportError as error:
            raise ModelUnavailable(f"no access token for {setting}: {error}") from error

    credentials.refresh = refresh_over


PROVIDER = Provider(
    name="vertex",
    protocol=GEMINI,
    make=_make,
    public=_GLOBAL,
    instead_of_key=_CREDENTIALS,
    priced_as="google",
    large="gemini-2.5-flash",
    small="gemini-2.5-flash-lite",
    models=IN_A_PATH,
    thinking_tokens=thinking_tokens,
)
