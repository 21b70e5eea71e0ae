"""Settings of `fettle up`, beside those of the API and the workers that it starts."""

from __future__ import annotations

from pydantic import Field, SecretStr

from settings.base import FettleSettings


class UpSettings(FettleSettings):
    """How many workers, and where Flower listens."""

    workers: int = Field(1, ge=1, description="worker processes that `fettle up` starts")
    flower_port: int = Field(5555, ge=1, le=65_535, description="port of Flower, on loopback")
    flower_password: SecretStr | None = Field(
        None, description="password of Flower's user `fettle`; unset: a new one at each start"
    )
