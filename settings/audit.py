"""Settings of the audit log.

See ADR 91.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from settings.base import FettleSettings


class AuditSettings(FettleSettings):
    """Give all workers the same values."""

    audit_key: Path | None = Field(
        None,
        description="file with the operator's Ed25519 private key (PEM, from `openssl genpkey "
        "-algorithm ed25519`), which signs the newest entry of each audit log once a day; unset: "
        "this worker signs no log",
    )
    audit_retention_days: float | None = Field(
        None,
        gt=0,
        le=36_500,
        description="how long entries of the audit log are kept; unset: forever",
    )
