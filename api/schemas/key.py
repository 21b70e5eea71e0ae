"""API keys."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from api.schemas import patterns
from api.schemas.job_request import MOST_TOKENS
from api.schemas.wire import RequestModel, ResponseModel, Time
from jobs.model.credentials import RESERVED, Scope


def _free(name: str) -> str:
    if name.lower() in RESERVED:
        said = "{name} signs what no key has done: choose another name"
        raise PydanticCustomError("reserved", said, {"name": name})
    return name


class DayLimits(RequestModel):
    """What a key's jobs, or a tenant's, may spend on a day (UTC); null: as the operator's settings
    say."""

    max_cost_usd_per_day: str | None = Field(
        None, pattern=patterns.DOLLARS, description="US dollars, as in 2.50"
    )
    max_tokens_per_day: int | None = Field(
        None, ge=0, le=MOST_TOKENS, description="tokens of input and output together"
    )


class KeyRequest(DayLimits):
    """The body of POST /keys. Limits are the operator's to set."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "ada", "scopes": ["submit", "read", "review"]}]}
    )

    name: Annotated[str, AfterValidator(_free)] = Field(
        pattern=patterns.KEY_NAME, description="signs decisions; no other active key may have it"
    )
    scopes: list[Scope] = Field(min_length=1, max_length=len(Scope))
    tenant: str | None = Field(
        None, pattern=patterns.TENANT, description="whose jobs it opens; else your key's own"
    )


class SpentToday(ResponseModel):
    """What was spent since midnight UTC, calls under way at what they can cost."""

    cost_usd: str
    tokens: int


class Key(ResponseModel):
    """A key, without its secret. What it spends is counted where it, or the house, has a limit."""

    id: str
    name: str
    tenant: str
    scopes: list[Scope]
    created_at: Time | None
    created_by: str
    revoked_at: Time | None = None
    max_cost_usd_per_day: str | None = None
    max_tokens_per_day: int | None = None
    spent_today: SpentToday | None = Field(None, description="in listings alone")


class NewKey(Key):
    """A key with its secret, which is shown this once."""

    secret: str


class KeyList(ResponseModel):
    """Keys, oldest first."""

    keys: list[Key]


class Tenant(ResponseModel):
    """A tenant, and what all its jobs may spend on a day: see DayLimits."""

    name: str
    max_cost_usd_per_day: str | None = None
    max_tokens_per_day: int | None = None
    spent_today: SpentToday | None = Field(None, description="where a limit counted it")


class TenantList(ResponseModel):
    """Tenants by name."""

    tenants: list[Tenant]


class SignInLink(ResponseModel):
    """A link that signs a browser in, once."""

    path: str = Field(description="below the address of this API")
    expires_seconds: int
