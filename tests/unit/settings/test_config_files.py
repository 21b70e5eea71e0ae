"""Settings come from named files, and never from the working directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from settings.base import DEVELOPMENT_KEY, StoreSettings
from settings.client import ClientSettings, UpSettings, isolated_environment
from settings.reading.config_file import ConfigFileError
from settings.starting.carried import carried_settings
from settings.starting.provenance import complaints, trace
from settings.starting.sections import SECTIONS
from settings.starting.start import load_settings
from settings.starting.unknown import unread_settings
from settings.worker import WorkerSettings

HOSTILE = 'url = "http://attacker.test"\napi_key = "k"\nconcurrency = 7\nworkers = 9\n'
OURS = "https://fettle.test"


@pytest.fixture(autouse=True)
def clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working directory with hostile files of settings; Fettle must read none of them."""
    for name in ("FETTLE_CONFIG", "FETTLE_URL", "FETTLE_API_KEY", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "clone"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for path in ("fettle.toml", "fettle/config.toml", ".config/fettle/config.toml"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(HOSTILE)
    (folder / ".env").write_text("FETTLE_URL=http://attacker.test\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    path = tmp_path / "home" / ".config" / "fettle" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f'url = "{OURS}/base"\napi_key = "stored"\nconcurrency = 3\n')
    return path


@pytest.mark.parametrize("home", ["", "fettle", ".", ".config"])
def test_no_file_of_the_working_directory_is_read(
    monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", home)
    for _, kind in SECTIONS:
        assert {setting.origin for setting in trace(kind)} <= {"default", "environment"}
    assert ClientSettings().url == "http://127.0.0.1:8000"
    assert (WorkerSettings().concurrency, UpSettings().workers) == (32, 1)


def test_without_a_home_folder_there_is_no_user_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", ".")
    assert ClientSettings().url == "http://127.0.0.1:8000"


@pytest.mark.usefixtures("user_file")
def test_only_client_settings_read_the_user_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = ClientSettings()
    assert (settings.url, settings.api_key.get_secret_value()) == (f"{OURS}/base", "stored")
    assert {each.origin for each in trace(ClientSettings)} == {"config.toml"}
    assert WorkerSettings().concurrency == 32
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other"))
    assert ClientSettings().api_key.get_secret_value() == DEVELOPMENT_KEY


@pytest.mark.usefixtures("user_file")
def test_the_file_of_fettle_config_replaces_the_user_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    named_path = tmp_path / "named.toml"
    named_path.write_text('url = "https://other.test"\nconcurrency = 5\n')
    monkeypatch.setenv("FETTLE_CONFIG", str(named_path))
    settings = ClientSettings()
    assert (settings.url, settings.api_key.get_secret_value()) == (
        "https://other.test",
        DEVELOPMENT_KEY,
    )
    assert WorkerSettings().concurrency == 5


@pytest.mark.parametrize(
    "other_url",
    ["http://attacker.test", "http://fettle.test", f"{OURS}:8443", f"{OURS}.attacker.test"],
)
@pytest.mark.parametrize("by_flag", [True, False])
@pytest.mark.parametrize("is_named", [True, False])
def test_a_stored_key_is_sent_only_to_its_service(
    monkeypatch: pytest.MonkeyPatch, user_file: Path, other_url: str, by_flag: bool, is_named: bool
) -> None:
    if is_named:
        monkeypatch.setenv("FETTLE_CONFIG", str(user_file))
    flags = {"url": other_url} if by_flag else {}
    if not by_flag:
        monkeypatch.setenv("FETTLE_URL", other_url)
    with pytest.raises(ValidationError) as refused:
        ClientSettings(**flags)
    (message,) = complaints(ClientSettings, refused.value)
    assert message == (
        f"the API key in {user_file} belongs to {OURS}/base and is not sent to {other_url}: "
        "set FETTLE_API_KEY to a key of that service"
    )
    monkeypatch.setenv("FETTLE_API_KEY", "fit")
    assert ClientSettings(**flags).api_key.get_secret_value() == "fit"


@pytest.mark.parametrize("same", [OURS, f"{OURS}:443/", "https://FETTLE.test/elsewhere"])
@pytest.mark.usefixtures("user_file")
def test_a_stored_key_is_sent_to_its_service_for_each_spelling_of_the_address(same: str) -> None:
    assert ClientSettings(url=same).api_key.get_secret_value() == "stored"


def test_a_key_that_is_stored_without_an_address_is_for_the_default_address(
    user_file: Path,
) -> None:
    user_file.write_text('api_key = "stored"\n')
    assert ClientSettings().api_key.get_secret_value() == "stored"
    with pytest.raises(ValidationError, match="is not sent to"):
        ClientSettings(url="http://attacker.test")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist: correct FETTLE_CONFIG"),
        (b"max_files 3", "is not valid TOML: .* line 1"),
        (b"\xff", "is not UTF-8 text"),
        (b"folder", "cannot be read: Is a directory"),
    ],
)
def test_an_unreadable_named_file_prevents_the_start(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    content: bytes | None,
    message: str,
) -> None:
    path = tmp_path / "named.toml"
    if content == b"folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("FETTLE_CONFIG", str(path))
    for _, kind in SECTIONS:
        with pytest.raises(ConfigFileError, match=message):
            kind()
    with pytest.raises(SystemExit) as exit_info:
        load_settings(WorkerSettings)
    assert exit_info.value.code == 2
    assert f"the file of settings {path} " in capsys.readouterr().err


def test_an_unnamed_file_of_the_working_directory_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], clone: Path
) -> None:
    path = clone / "fettle.toml"
    (message,) = [text for text in unread_settings() if "fettle.toml" in text]
    assert message.startswith(
        f"{path} is not read, because no setting names it: set FETTLE_CONFIG={path}"
    )
    monkeypatch.setenv("FETTLE_ENV", "production")
    with pytest.raises(SystemExit) as exit_info:
        load_settings(WorkerSettings)
    assert exit_info.value.code == 2
    assert message in capsys.readouterr().err
    assert isolated_environment({})["FETTLE_CONFIG"] == ""
    monkeypatch.setenv("FETTLE_CONFIG", "")
    assert unread_settings() == []


def test_a_throwaway_service_gets_no_settings_of_a_deployment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "ours.toml"
    file.write_text(
        'model = ["groq:a", "groq:b"]\nmax_steps = 9\ngroq_api_key = "k"\n'
        "model_timeout_seconds = 7\n"
        'redis_url = "redis://production/0"\nlease_seconds = 900\nwebhook_url = "https://x.test"\n'
        "[model_body.'groq:*']\ntop_p = 0.8\n"
    )
    monkeypatch.setenv("FETTLE_CONFIG", str(file))
    monkeypatch.setenv("FETTLE_MODEL_TIMEOUT_SECONDS", "900")
    monkeypatch.setenv("FETTLE_DATA_DIR", "/of/production")
    monkeypatch.setenv("FETTLE_ENV", "production")
    carried = carried_settings()
    for name in ("GROQ_API_KEY", *(name for name in os.environ if name.startswith("FETTLE_"))):
        monkeypatch.delenv(name, raising=False)
    for name, value in carried.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FETTLE_CONFIG", "")
    worker, default = WorkerSettings(), StoreSettings()
    assert worker.model == ("groq:a", "groq:b")
    assert (worker.max_steps, worker.model_timeout_seconds) == (9, 900)
    assert worker.api_keys()["groq"] == "k"
    assert worker.model_body == {"groq:*": {"top_p": 0.8}}
    assert (worker.env, worker.redis_url, worker.data_dir) == (
        default.env, default.redis_url, default.data_dir
    )  # fmt: skip
    assert worker.lease_seconds == 15
    assert not [name for name in carried if "WEBHOOK" in name]
