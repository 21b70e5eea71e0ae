"""Settings that the processes of a deployment share.

See ADR 35.
"""

from __future__ import annotations

import importlib.util
import json
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from settings.reading.addresses import OptionalHttpUrl, RedisAddress, RedisField
from settings.reading.config_file import named_file, read_file

DEVELOPMENT_KEY = "fettle-development-key"
"""Everyone knows this key. `FETTLE_ENV=production` refuses it."""


class ValueOrigin(StrEnum):
    """The origin of a value. The first origin that has a value wins; only a client has a
    USER_FILE."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    FILE = "fettle.toml"
    USER_FILE = "config.toml"
    DEFAULT = "default"


class Environment(StrEnum):
    """The environment of a deployment. Production refuses unsafe settings, which development
    allows."""

    DEVELOPMENT = "development"
    PRODUCTION = "production"


class FettleSettings(BaseSettings):
    """The root of the settings classes: prefix FETTLE_, then the named file, then defaults."""

    # An invalid value may be a secret that was put into the wrong variable: no error repeats it.
    model_config = SettingsConfigDict(
        env_prefix="FETTLE_", extra="ignore", frozen=True, hide_input_in_errors=True
    )

    @classmethod
    def read_file(cls) -> tuple[ValueOrigin, dict[str, Any]]:
        """The origin of the settings (the file), and the file's values. Raises ConfigFileError."""
        return ValueOrigin.FILE, read_file(named_file())

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, environment, file."""
        _, values = cls.read_file()
        return (init_settings, env_settings, InitSettingsSource(settings_cls, values))


_DAY = 86_400
_LONGEST_DAYS = 36_500
_SHORTEST_PAUSE = 0.01
"""A shorter pause would keep Redis and every worker busy."""
_OTHER_LEVELS = {"WARN": "WARNING", "FATAL": "CRITICAL"}
"""Other names of levels in `logging`."""


def _upper(value: Any) -> Any:
    return _OTHER_LEVELS.get(value.upper(), value.upper()) if isinstance(value, str) else value


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


LogLevel = Annotated[
    Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], BeforeValidator(_upper)
]
LogFormat = Annotated[Literal["json", "console"], BeforeValidator(_lower)]


class FleetSettings(FettleSettings):
    """Rules for jobs that all workers share. Times in seconds, unless the name says days.

    A worker uses them once: the first worker on an empty Redis puts them on record. From then on
    the record counts for every worker, and `fettle fleet set` changes it (ADR 72).
    """

    lease_seconds: float = Field(
        15.0,
        ge=1,
        le=_DAY,
        description="after this time without a heartbeat, a worker's job is given to another "
        "worker",
    )
    heartbeat_seconds: float = Field(
        5.0,
        ge=_SHORTEST_PAUSE,
        le=_DAY,
        description="how often leases are renewed: at least twice a lease, and twice in "
        "`FETTLE_WORKER_SEEN_SECONDS`",
    )
    overdue_seconds: float = Field(
        60.0,
        gt=0,
        le=_DAY,
        description="this long after a job's `timeout_seconds` its lease is no longer renewed, "
        "and the sweeper ends the job",
    )
    sweep_seconds: float = Field(
        2.0, ge=_SHORTEST_PAUSE, le=_DAY, description="how often the sweeper looks for due jobs"
    )
    retries: int = Field(
        12,
        ge=0,
        le=10_000,
        description="how often in a row, without progress, a job is tried again if its model, "
        "repository or storage is unavailable; with the default waits below: for 35 minutes",
    )
    retry_seconds: float = Field(
        5.0,
        gt=0,
        le=_DAY,
        description="the wait before the first of these tries; it doubles each time, and does not "
        "count as running time of the job",
    )
    retry_longest_seconds: float = Field(
        300.0,
        gt=0,
        le=_DAY,
        description="the longest such wait, unless the provider asks for a longer one",
    )
    retention_days: float = Field(
        30.0,
        gt=0,
        le=_LONGEST_DAYS,
        description="how long a finished job is kept with its events and files",
    )
    blob_grace_seconds: float = Field(
        172_800.0,
        gt=0,
        le=_LONGEST_DAYS * _DAY,
        description="how long bytes are kept that no job refers to; it has to be longer than any "
        "attempt (`FETTLE_MAX_TIMEOUT_SECONDS` plus `FETTLE_OVERDUE_SECONDS`): otherwise a worker "
        "warns, and in production it does not start",
    )
    retention_sweep_seconds: float = Field(
        60.0,
        ge=_SHORTEST_PAUSE,
        le=_DAY,
        description="how often one worker looks for jobs and bytes to remove",
    )

    @model_validator(mode="after")
    def _leases_hold(self) -> Self:
        lease, heartbeat = self.lease_seconds, self.heartbeat_seconds
        if lease < 2 * heartbeat:
            raise ValueError(
                f"FETTLE_LEASE_SECONDS is {lease:g} and FETTLE_HEARTBEAT_SECONDS {heartbeat:g}: "
                f"one late heartbeat would end the lease of every running job. Set the lease to "
                f"{2 * heartbeat:g} or more, or the heartbeat to {lease / 2:g} or less"
            )
        return self

    def fleet_values(self) -> dict[str, Any]:
        """The values of these settings by name."""
        return {name: getattr(self, name) for name in FleetSettings.model_fields}

    def set_fleet_values(self) -> dict[str, Any]:
        """The values that the environment or the file sets."""
        values = self.fleet_values().items()
        return {name: value for name, value in values if name in self.model_fields_set}


class StoreSettings(FettleSettings):
    """Where jobs and their bytes are stored, and the limits of every job."""

    env: Environment = Field(
        Environment.DEVELOPMENT, description="development or production (refuses unsafe settings)"
    )
    redis_url: RedisField = Field(
        RedisAddress("127.0.0.1"),
        description="the job record: `redis://`, `rediss://` (TLS, which is verified) or "
        "`unix://`; options in [deployment.md](deployment.md#redis-over-tls)",
    )
    redis_replicas: int = Field(
        0,
        ge=0,
        le=10,
        description="replicas that must have received a write to a job before it counts (`WAIT`); "
        "0: the primary's disk is enough",
    )
    broker_url: RedisField = Field(
        RedisAddress("127.0.0.1", database=1),
        description="Redis for data that may be lost: Celery's queue of hints, counts of requests",
    )
    data_dir: Path = Field(
        Path(".fettle"), description="artifacts and workspaces; shared by API and workers"
    )
    blobs_bucket: str | None = Field(
        None,
        pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/\.*[A-Za-z0-9_-][A-Za-z0-9._-]*)*/?$",
        description="`BUCKET` or `BUCKET/PREFIX` of S3-compatible storage for artifacts and "
        "workspaces, in place of `data_dir`; for workers on several machines",
    )
    s3_endpoint: OptionalHttpUrl = Field(None, description="address of the storage; else Amazon's")
    s3_region: str = Field("us-east-1", description="region of the bucket")
    s3_access_key: SecretStr | None = Field(
        None, description="key for the bucket; without one, the machine's or container's role"
    )
    s3_secret_key: SecretStr | None = Field(None, description="the secret of that key")
    max_timeout_seconds: int = Field(
        86_400, gt=0, description="the longest running time a job may ask for"
    )
    max_run_seconds: int = Field(
        600, gt=0, description="the longest time of one run of code that a job may ask for"
    )
    max_run_memory_bytes: int = Field(
        2 * 1024**3, gt=0, description="the most memory of one run that a job may ask for"
    )
    max_job_steps: int = Field(
        100, gt=0, description="the most model calls of one revision that a job may ask for"
    )
    worker_seen_seconds: float = Field(
        20.0,
        gt=0,
        description="after this time without an announcement, a worker counts as stopped on the "
        "pages, in `fettle doctor` and in `fettle models`",
    )
    log_format: LogFormat = Field(
        "json", description="json: one object a line; console: for people"
    )
    log_level: LogLevel = Field("INFO", description="DEBUG, INFO, WARNING, ERROR or CRITICAL")

    @model_validator(mode="after")
    def _verified_servers(self) -> Self:
        servers = {"FETTLE_REDIS_URL": self.redis_url, "FETTLE_BROKER_URL": self.broker_url}
        for variable, address in servers.items():
            tls = address.tls
            if self.env is Environment.PRODUCTION and tls is not None and not tls.safe:
                raise ValueError(
                    f"{variable} switches the verification of TLS off, so that any server would "
                    "get the password: name the server's authority with ssl_ca_certs=FILE instead"
                )
        return self

    @field_validator("s3_access_key", "s3_secret_key")
    @classmethod
    def _fits_a_header(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and not re.fullmatch(r"[!-~]*", key.get_secret_value()):
            raise ValueError(
                "the key contains a space, a line end or another character that keys never "
                "contain: copy the key again"
            )
        return key

    @model_validator(mode="after")
    def _whole_bucket(self) -> Self:
        if bool(self.s3_access_key) != bool(self.s3_secret_key):
            raise ValueError(
                "FETTLE_S3_ACCESS_KEY and FETTLE_S3_SECRET_KEY go together: set both; or set "
                "neither, to use the role of the machine or container"
            )
        if self.blobs_bucket is None and (self.s3_endpoint or self.s3_access_key):
            raise ValueError(
                "FETTLE_S3_... describes a bucket, but FETTLE_BLOBS_BUCKET names none, so files "
                "would go to FETTLE_DATA_DIR: set FETTLE_BLOBS_BUCKET, or unset FETTLE_S3_..."
            )
        if self.blobs_bucket is not None and importlib.util.find_spec("obstore") is None:
            raise ValueError(
                "FETTLE_BLOBS_BUCKET needs the extra s3, which is not installed: "
                "pip install 'fettle[s3]'"
            )
        return self

    @property
    def blobs_dir(self) -> Path:
        """The artifact store's directory."""
        return self.data_dir / "blobs"

    def directories(self) -> tuple[tuple[str, Path], ...]:
        """The directories that the process must be able to write to, with their settings."""
        directories = () if self.blobs_bucket else (self.data_dir, self.blobs_dir)
        return tuple(("FETTLE_DATA_DIR", directory) for directory in directories)

    def bucket(self) -> dict[str, str | None] | None:
        """The arguments of `jobs.blobs.s3.Bucket`; None if the deployment uses a directory."""
        if self.blobs_bucket is None:
            return None
        name, _, prefix = self.blobs_bucket.partition("/")
        keys = (self.s3_access_key, self.s3_secret_key)
        access_key, secret_key = (key.get_secret_value() if key else None for key in keys)
        return {
            "name": name,
            "prefix": prefix,
            "endpoint": self.s3_endpoint,
            "region": self.s3_region,
            "access_key": access_key,
            "secret_key": secret_key,
        }


def _names(value: Any) -> Any:
    """The parts of `a, b` or of a JSON list. An empty text, which compose sends for an unset
    variable, has no parts."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return tuple(json.loads(value))
    return tuple(name for part in value.split(",") if (name := part.strip()))


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_names)]
"""Names, separated by commas. The order counts."""
