"""Checks as they come in: what the house limits, and where they are kept."""

from __future__ import annotations

from collections.abc import Iterator

from api.paths import path_errors
from api.schemas.checks import MOST_BYTES, ChecksRequest
from api.schemas.problem import FieldError
from jobs import manifest
from jobs.blobs import Blobs
from jobs.checks import CheckSpec
from jobs.manifest import checked_path


def errors(checks: ChecksRequest) -> Iterator[FieldError]:
    """What is wrong with them, by field."""
    total = sum(len(text.encode(errors="replace")) for text in checks.files.values())
    if total > MOST_BYTES:
        message = f"they may have {MOST_BYTES} bytes together, not {total}"
        yield FieldError(field="checks.files", message=message, limit=MOST_BYTES)
    yield from path_errors(checks.files, "checks.files")


async def save(blobs: Blobs, checks: ChecksRequest) -> CheckSpec:
    """Put their files where the worker finds them."""
    files = {path: text.encode() for path, text in checks.files.items()}
    kept = await manifest.save(blobs, files)
    assert kept is not None  # noqa: S101 - there is a file at least
    return CheckSpec(kept, tuple(sorted(map(checked_path, files))), checks.command)
