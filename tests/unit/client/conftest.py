"""A small service for the tests of the client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.servers.tiny_service import TinyService, serving


@pytest.fixture
def tiny() -> Iterator[TinyService]:
    with serving() as service:
        yield service
