import pytest

from strata import Strata
from strata.errors import Missing, Unfit

DEFAULTS = {"server": {"host": "localhost", "port": 80}, "debug": False}


def test_later_layers_win():
    settings = Strata(DEFAULTS, {"debug": True})
    assert settings["debug"] is True
    assert settings["server.host"] == "localhost"


def test_kinds():
    settings = Strata(DEFAULTS)
    assert settings.get("server.port", int) == 80
    with pytest.raises(Unfit, match="debug is False, and not int"):
        settings.get("debug", int)


def test_missing():
    with pytest.raises(Missing):
        Strata(DEFAULTS)["server.name"]


def test_names():
    assert list(Strata({"a": {"b": 1}}, {"c": 2})) == ["a.b", "c"]
