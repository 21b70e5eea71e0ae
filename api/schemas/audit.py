"""The audit log."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.schemas.fields import ResponseModel, Time


class AuditActor(ResponseModel):
    """The key that acted, or a part of the service."""

    name: str
    key_id: str = Field(description="empty: a part of the service")
    person: str


class AuditEntry(ResponseModel):
    """An entry, a line of the export."""

    seq: int = Field(description="counts the entries of the tenant from 1")
    at: Time
    tenant: str
    kind: str
    actor: AuditActor
    data: dict[str, Any]
    prev: str = Field(description="the hash of the entry before; 64 zeros: there is none")
    hash: str = Field(description='SHA-256 over the bytes of the line up to `,"hash":`')


class AuditHead(ResponseModel):
    """The newest entry of a tenant's audit log."""

    tenant: str
    first_seq: int = Field(description="the number of the oldest entry that is kept; 0: none")
    seq: int = Field(description="the number of the newest entry; 0: there is no entry")
    hash: str = Field(description="its hash, SHA-256 in hexadecimal")
