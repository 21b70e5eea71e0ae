"""Settings of the HTTP front."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from settings.base import DEVELOPMENT_KEY, Environment, Names, StoreSettings
from settings.money import MoneySettings
from settings.reading.addresses import (
    ListenHost,
    OptionalCompleteUrl,
    parse_host_names,
    parse_networks,
    parse_origins,
)
from settings.reviews import ReviewSettings
from settings.webhooks import WebhookSettings

MIB = 1024 * 1024
RATE = r"^[1-9]\d{0,8}/(second|minute|hour|day)$"
REPLICATED_SECONDS = 1.0
"""The longest time that replicas may take for a write (jobs.store.commit)."""


class ApiSettings(StoreSettings, MoneySettings, ReviewSettings, WebhookSettings):
    """Sizes in bytes, times in seconds."""

    host: ListenHost = Field("127.0.0.1", description="address the API listens on")
    port: int = Field(
        8000, ge=0, le=65_535, description="port the API listens on; 0 takes a free one and logs it"
    )
    allowed_hosts: Annotated[Names, AfterValidator(parse_host_names)] = Field(
        (),
        description="names by which the API is called, as in fettle.example.org or "
        "*.example.org; `*` allows any. Loopback names, and the address that a call came in at, "
        "are always allowed",
    )
    cors_origins: Annotated[Names, AfterValidator(parse_origins)] = Field(
        (),
        description="origins of web pages that may call the API from a browser, with a key, as in "
        "https://tools.example.org,http://localhost:3000; unset: none",
    )
    forwarded_allow_ips: Annotated[Names, AfterValidator(parse_networks)] = Field(
        (),
        description="proxies whose X-Forwarded-For and X-Forwarded-Proto are believed: addresses "
        "or networks, as in 10.0.0.7,172.16.0.0/12; unset: none, and each caller is the address "
        "that it connects from",
    )
    api_key: SecretStr | None = Field(
        None, description="the first key, with every scope; development has a known one"
    )
    models: Names = Field(
        ("groq:*", "google_genai:*", "recording:*"),
        description="allow-list of models a job may name, as provider:model or provider:*",
    )
    max_body_bytes: int = Field(1 * MIB, gt=0, description="largest request body, without files")
    max_files: int = Field(
        1_000,
        ge=0,
        le=10_000,
        description="the most files that come with a job; a sandbox takes 10,000",
    )
    max_files_bytes: int = Field(
        100 * MIB,
        ge=0,
        description="the most bytes of these files together, with a git bundle; workers need a "
        "larger `FETTLE_WORKSPACE_BYTES`. Files in a JSON body may have at most 10 MiB",
    )
    admit_memory_ratio: float = Field(
        0.85,
        gt=0,
        le=1,
        description="the API accepts no new job if more than this part of Redis' maxmemory is in "
        "use; the rest is for accepted jobs",
    )
    admit_queued: int = Field(
        10_000,
        gt=0,
        description="jobs of one tenant that may wait for a worker; at this number it can submit"
        " no more",
    )
    rate_limit: str = Field(
        "600/minute",
        pattern=RATE,
        description="requests a key may make, as N/second, N/minute, N/hour or N/day",
    )
    wrong_key_limit: str = Field(
        "30/minute",
        pattern=RATE,
        description="wrong keys that an address may send to one API process before it has to "
        "wait; keys that were valid from that address before still work",
    )
    head_seconds: float = Field(
        10.0, gt=0, description="how long a request's head may take to arrive; then it is a 408"
    )
    connections_per_address: int = Field(
        512,
        gt=0,
        description="connections that one address may have open to one API process; more are a "
        "503. Behind a proxy all connections come from its address",
    )
    body_seconds: float = Field(
        30.0,
        gt=0,
        description="how long a request's body may take to arrive, and a second more for each MiB; "
        "then it is a 408",
    )
    stream_heartbeat_seconds: float = Field(
        15.0, gt=0, description="comment line in a quiet event stream"
    )
    session_seconds: int = Field(
        12 * 3_600, ge=60, le=30 * 24 * 3_600, description="how long a browser stays signed in"
    )
    flower_url: OptionalCompleteUrl = Field(
        None, description="Flower's address, for the link on the system page"
    )
    secure_cookies: bool | None = Field(
        None,
        description="whether the pages' cookie is sent over https only; unset: if the page came "
        "over https, which a trusted proxy reports in X-Forwarded-Proto",
    )
    redis_seconds: float = Field(
        2.0, gt=0, le=4, description="how long Redis may take to answer; then it is a 503"
    )
    shutdown_seconds: int = Field(
        5, ge=0, description="how long requests in progress may take to end at shutdown"
    )

    @model_validator(mode="after")
    def _time_for_replicas(self) -> Self:
        if self.redis_replicas and self.redis_seconds <= REPLICATED_SECONDS:
            raise ValueError(
                f"FETTLE_REDIS_SECONDS is {self.redis_seconds:g}, but with FETTLE_REDIS_REPLICAS "
                f"the replicas alone may take {REPLICATED_SECONDS:g} s for a write: set it to 2"
            )
        return self

    def first_key(self) -> str | None:
        """The key that is valid without a record in Redis: FETTLE_API_KEY, else the development
        key."""
        if self.api_key is not None and self.api_key.get_secret_value():
            return self.api_key.get_secret_value()  # compose sends an empty one for unset
        return DEVELOPMENT_KEY if self.env is Environment.DEVELOPMENT else None
