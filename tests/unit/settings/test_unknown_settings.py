"""A misspelt setting is reported with the correct name, instead of being ignored."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from settings.starting.provenance import variable
from settings.starting.sections import SECTIONS
from settings.starting.unknown import PREFIX, unknown_settings

REPOSITORY = Path(__file__).parents[3]
DEPLOYED = (
    *REPOSITORY.glob("docker-compose*.yml"),
    *(path for path in (REPOSITORY / "deploy").rglob("*") if path.is_file()),
    REPOSITORY / "Procfile",
    REPOSITORY / "Makefile",
)


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    (tmp_path / "fettle.toml").touch()
    monkeypatch.setenv("FETTLE_CONFIG", str(tmp_path / "fettle.toml"))
    return tmp_path / "fettle.toml"


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("FETTLE_MAXSTEPS", "FETTLE_MAX_STEPS"),
        ("FETTLE_GROQ_API_BASE", "FETTLE_GROQ_BASE_URL"),
        ("FETTLE_OPENAI_BASEURL", "FETTLE_OPENAI_BASE_URL"),
        ("FETTLE_REDIS", "FETTLE_REDIS_URL"),
        ("FETTLE_LOGLEVEL", "FETTLE_LOG_LEVEL"),
        ("FETTLE_GROQ_API_KEY", "GROQ_API_KEY"),
        ("FETTLE_CONFG", "FETTLE_CONFIG"),
        ("fettle_config", "FETTLE_CONFIG"),
        ("FETTLE_QQQQ", None),
    ],
)
def test_a_name_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, name: str, setting: str | None
) -> None:
    monkeypatch.setenv(name, "1")
    (unknown,) = unknown_settings()
    guess = f": did you mean {setting}?" if setting else ""
    assert str(unknown) == f"{name} (environment) is not a setting{guess}"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("HISTORY_CHARACTERS", "FETTLE_CONTEXT_SHARE"),
        ("CONVERSATION_CHARACTERS", "FETTLE_CONTEXT_SHARE"),
        ("INSTALL_LIST", "FETTLE_SETUP_HOSTS"),
        ("INSTALL_SECONDS", "FETTLE_SANDBOX_PYTHON"),
    ],
)
def test_a_setting_of_an_earlier_release_has_a_remedy(
    monkeypatch: pytest.MonkeyPatch, file: Path, name: str, remedy: str
) -> None:
    monkeypatch.setenv(f"FETTLE_{name}", "9000")
    file.write_text(f"{name.lower()} = 9000\n")
    for unknown in unknown_settings():
        assert str(unknown).startswith(
            f"{unknown.name} ({unknown.origin}) is no longer a setting: "
        )
        assert remedy in str(unknown)


def test_a_name_in_the_file(file: Path) -> None:
    file.write_text('maxsteps = 3\nmax_steps = 3\ngroq_api_key = "k"\nGROQ_API_KEY = "k"\n[api]\n')
    assert [str(unknown) for unknown in unknown_settings()] == [
        "maxsteps (fettle.toml) is not a setting: did you mean max_steps?",
        "api (fettle.toml) is not a setting",
    ]


@pytest.mark.usefixtures("file")
def test_settings_and_names_of_the_deployment_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    for _, kind in SECTIONS:
        for name, field in kind.model_fields.items():
            monkeypatch.setenv(variable(kind, name, field), "1")
    text = "\n".join(path.read_text(errors="replace") for path in DEPLOYED)
    used = set(re.findall(rf"{PREFIX}[A-Z0-9_]+[A-Z0-9]\b", text))
    assert "FETTLE_API_IMAGE" in used
    for name in used:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("FETTLE_CONFIG", "")
    assert [unknown.name for unknown in unknown_settings()] == []
