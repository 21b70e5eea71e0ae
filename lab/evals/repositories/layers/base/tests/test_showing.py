from strata import Strata
from strata.showing import lines, origin


def test_secrets_are_not_shown():
    settings = Strata({"db": {"password": "x", "host": "h"}})
    assert list(lines(settings)) == ['db.host = "h"', "db.password = ***"]


def test_origin():
    layers = [("defaults", {"a": 1, "b": 1}), ("file", {"a": 2})]
    assert [origin(layers, name) for name in "ab"] == ["file", "defaults"]
