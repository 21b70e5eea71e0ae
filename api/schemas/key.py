"""API keys."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from api.schemas.wire import Asked, Told
from jobs.credentials import Scope

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}$"
TENANT_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,62}$"
"""No colon: tenants are parts of names in Redis."""


class KeyRequest(Asked):
    """The body of POST /keys."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "ada", "scopes": ["submit", "read", "review"]}]}
    )

    name: str = Field(pattern=NAME_PATTERN, description="signs decisions")
    scopes: list[Scope] = Field(min_length=1, max_length=len(Scope))
    tenant: str | None = Field(
        None, pattern=TENANT_PATTERN, description="whose jobs it opens; else your key's own"
    )


class Key(Told):
    """A key, without its secret."""

    id: str
    name: str
    tenant: str
    scopes: list[Scope]
    created_at: str | None
    created_by: str
    revoked_at: str | None = None


class NewKey(Key):
    """A key with its secret, which is shown this once."""

    secret: str


class KeyList(Told):
    """Keys, oldest first."""

    keys: list[Key]
