"""API keys."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from api.schemas import patterns
from api.schemas.fields import Dollars, RequestModel, ResponseModel, Time
from api.schemas.job_request import MOST_TOKENS
from jobs.model.credentials import RESERVED, Scope
from jobs.model.event_data.model_calls import Usd
from jobs.model.people import identity_of
from jobs.model.visibility import is_invisible


def _free(name: str) -> str:
    if identity_of(name) in RESERVED:
        message = "Fettle signs its own actions as {name}: choose another name"
        raise PydanticCustomError("reserved", message, {"name": name})
    return name


def _person(name: str | None) -> str | None:
    """On one line and in single spaces, with one form of each letter (Unicode NFKC)."""
    if name is None:
        return None
    name = " ".join(unicodedata.normalize("NFKC", name).split())
    if any(map(is_invisible, name)):
        raise PydanticCustomError("unprintable", "a person's name may have only visible characters")
    return _free(name)


class DayLimits(RequestModel):
    """Daily (UTC) spending limits of a key's jobs, or a tenant's; null: the operator's settings."""

    max_cost_usd_per_day: Dollars | None = Field(None, description="US dollars, such as 2.50")
    max_tokens_per_day: int | None = Field(
        None, ge=0, le=MOST_TOKENS, description="tokens of input and output together"
    )


class KeyRequest(DayLimits):
    """The body of POST /keys. Only the operator sets limits."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "ada", "scopes": ["submit", "read", "review"]}]}
    )

    name: Annotated[str, AfterValidator(_free)] = Field(
        pattern=patterns.KEY_NAME,
        description="signs decisions; unique among keys that are not revoked",
    )
    person: Annotated[str | None, AfterValidator(_person)] = Field(
        None,
        pattern=patterns.SOME_TEXT,
        max_length=100,
        description="the owner of the key, forever; else a person with the key's name",
    )
    scopes: list[Scope] = Field(min_length=1, max_length=len(Scope))
    tenant: str | None = Field(
        None, pattern=patterns.TENANT, description="the key's tenant; else that of your key"
    )
    expires_days: int | None = Field(None, ge=1, le=3_650, description="else it never expires")


class SpentToday(ResponseModel):
    """Spending since midnight UTC; unfinished calls count with their highest cost."""

    cost_usd: Usd
    tokens: int


class Key(ResponseModel):
    """A key, without its secret. Its spending is counted if a limit applies to it."""

    id: str
    name: str
    person: str = Field(
        "", description="the owner of the key: all keys of a person together have one vote"
    )
    tenant: str
    scopes: list[Scope]
    created_at: Time | None
    created_by: str = Field(description="the name of the key that made it")
    created_by_key: str = Field("", description="the id of that key; empty from an older release")
    expires_at: Time | None = Field(None, description="null: never")
    revoked_at: Time | None = None
    max_cost_usd_per_day: str | None = None
    max_tokens_per_day: int | None = None
    spent_today: SpentToday | None = Field(None, description="only in listings")
    last_used_at: Time | None = Field(None, description="only in listings; to the minute")


class NewKey(Key):
    """A key with its secret, which is shown only once."""

    secret: str


class KeyList(ResponseModel):
    """Keys, oldest first."""

    keys: list[Key]


class Tenant(ResponseModel):
    """A tenant and the daily spending limits of all its jobs: see DayLimits."""

    name: str
    max_cost_usd_per_day: str | None = None
    max_tokens_per_day: int | None = None
    spent_today: SpentToday | None = Field(None, description="if a limit applies")


class TenantList(ResponseModel):
    """Tenants by name."""

    tenants: list[Tenant]


class SignInLink(ResponseModel):
    """A link that signs a browser in, once."""

    path: str = Field(description="a path of this API")
    expires_seconds: int
