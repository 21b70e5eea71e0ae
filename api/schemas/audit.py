"""The audit log."""

from __future__ import annotations

from pydantic import Field

from api.schemas.fields import ResponseModel


class AuditHead(ResponseModel):
    """The newest entry of a tenant's audit log."""

    tenant: str
    first_seq: int = Field(description="the number of the oldest entry that is kept; 0: none")
    seq: int = Field(description="the number of the newest entry; 0: there is no entry")
    hash: str = Field(description="its hash, SHA-256 in hexadecimal")
