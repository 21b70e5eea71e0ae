"""Which engine a drill uses; starting one of its own is an integration test."""

from __future__ import annotations

import os

import pytest

from cli.errors import CliError
from drills.engine import engine
from settings.sandbox import Backend, SandboxSettings


@pytest.mark.parametrize(
    "settings",
    [
        SandboxSettings(sandbox=Backend.LOCAL),
        SandboxSettings(sandbox=Backend.DOCKER, sandbox_engine="tcp://127.0.0.1:1"),
    ],
)
def test_none_is_started_where_none_is_needed_or_one_is_named(settings: SandboxSettings) -> None:
    said: list[str] = []
    with engine(settings, said.append) as ready:
        assert ready is settings
    assert said == []


def test_without_root_one_has_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    settings = SandboxSettings(sandbox=Backend.DOCKER, sandbox_engine=None)
    with pytest.raises(CliError) as refused, engine(settings, print):
        pass
    assert "FETTLE_SANDBOX_ENGINE" in refused.value.next_step
