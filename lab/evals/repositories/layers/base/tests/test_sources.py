import pytest

from strata.errors import SettingsError
from strata.sources import from_environment, from_file, from_words


def test_file(tmp_path):
    path = tmp_path / "app.toml"
    path.write_text("[server]\nport = 80\n")
    assert from_file(path) == {"server": {"port": 80}}


def test_no_file(tmp_path):
    assert from_file(tmp_path / "none", required=False) == {}
    with pytest.raises(SettingsError, match="is missing"):
        from_file(tmp_path / "none")


def test_environment():
    environment = {"APP_SERVER__PORT": "8080", "APP_NAME": "x", "HOME": "/"}
    assert from_environment(environment, "APP_") == {"server": {"port": 8080}, "name": "x"}


@pytest.mark.parametrize("word", ["port", "=3"])
def test_no_setting(word):
    with pytest.raises(SettingsError, match="not a setting"):
        from_words([word])
