"""Fixtures of several test folders."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.servers.web_server import WebServer, web_server


@pytest.fixture
def server() -> Iterator[WebServer]:
    """A web server on loopback, without answers yet."""
    with web_server() as running:
        yield running
