"""The text of a file that a job's tool has written, for showing it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from cli.errors import Refused
from cli.service import Service

MOST_BYTES = 64 * 1024
"""A longer file is named and not fetched: nobody reads it as it scrolls by."""


def text_of(service: Service, job_id: str) -> Callable[[Mapping[str, Any]], str | None]:
    """A function from an artifact ({name, digest, size}) to its text.

    None where it is no text, too long, or has been replaced since: another version than the event
    tells of is not shown in its place.
    """

    def fetched(made: Mapping[str, Any]) -> str | None:
        if not 0 < made["size"] <= MOST_BYTES:
            return None
        try:
            content = service.artifact(job_id, made["name"])
        except Refused:
            return None
        if hashlib.sha256(content).hexdigest() != made["digest"]:
            return None
        return as_text(content)

    return fetched


def as_text(content: bytes) -> str | None:
    """The bytes as text; None where they are none."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
