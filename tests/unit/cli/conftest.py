"""Fixtures of the command line's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tiny_service import TinyService, serving


@pytest.fixture
def tiny() -> Iterator[TinyService]:
    with serving() as service:
        yield service


@pytest.fixture(autouse=True)
def own_settings(monkeypatch, tmp_path) -> None:
    """No setting of the machine, and no fettle.toml of the working directory."""
    for name in ("FETTLE_URL", "FETTLE_API_KEY", "FETTLE_REDIS_URL", "FETTLE_BROKER_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FETTLE_CONFIG", str(tmp_path / "fettle.toml"))
