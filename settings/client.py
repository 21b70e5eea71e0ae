"""Settings of the command line."""

from __future__ import annotations

from pydantic import Field, SecretStr

from settings.base import DEVELOPMENT_KEY, FettleSettings


class ClientSettings(FettleSettings):
    """Where the service is, and the key to it."""

    url: str = Field("http://127.0.0.1:8000", description="the service that the command line calls")
    api_key: SecretStr = Field(
        SecretStr(DEVELOPMENT_KEY), description="the key it sends in X-API-Key"
    )
