"""The port Pages, as an operator's settings have it."""

from __future__ import annotations

import re

from settings.tools import ToolSettings
from worker.reach.hosts import Hosts
from worker.reach.reach import Reach

_KIND = re.compile(
    r"(text/[\w.+-]{1,127}|application/(json|xml|[\w.-]{1,127}\+(json|xml)))$", re.ASCII
)
"""What is text. Names have at most 127 characters (RFC 6838): they are shown to the model."""


def pages(settings: ToolSettings) -> Reach | None:
    """None where the operator allows no hosts."""
    if not settings.fetch_hosts:
        return None
    return Reach(
        Hosts(settings.fetch_hosts, http=settings.fetch_http),
        settings.fetch_bytes,
        settings.fetch_seconds,
        private=settings.fetch_private,
        kind_fits=lambda kind: _KIND.match(kind) is not None,
        accept="text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9",
    )
