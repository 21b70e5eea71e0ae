"""The engine that a drill uses. An integration test covers the start of a new engine."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from cli.errors import CliError
from lab.drills.attacks.backends import NAMES, backend
from lab.drills.engine import engine
from settings.sandbox import Backend, SandboxSettings


@pytest.mark.parametrize(
    "settings",
    [
        SandboxSettings(sandbox=Backend.LOCAL),
        SandboxSettings(sandbox=Backend.DOCKER, sandbox_engine="tcp://127.0.0.1:1"),
    ],
)
def test_no_engine_is_started_if_none_is_needed_or_one_is_configured(
    settings: SandboxSettings,
) -> None:
    messages: list[str] = []
    with engine(settings, messages.append) as ready:
        assert ready is settings
    assert messages == []


def test_the_usual_engine_is_used_and_reported_if_it_answers(tmp_path: Path) -> None:
    messages: list[str] = []
    usual = f"unix://{tmp_path}/docker.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{tmp_path}/docker.sock")
        listening.listen()
        with engine(SandboxSettings(sandbox=Backend.DOCKER), messages.append, usual) as ready:
            assert ready.sandbox_engine == usual
    assert messages == [f"{usual}, as a worker would take it"]


@pytest.mark.parametrize("name", NAMES)
def test_an_attack_uses_the_backend_of_a_worker(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FETTLE_RUN_CPUS", "0.5")
    sandbox = backend(name).make()
    assert vars(sandbox)["_cpus"] == 0.5


def test_without_root_an_engine_must_be_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    settings = SandboxSettings(sandbox=Backend.DOCKER, sandbox_engine=None)
    with pytest.raises(CliError) as refused, engine(settings, print):
        pass
    assert "FETTLE_SANDBOX_ENGINE" in refused.value.next_step
