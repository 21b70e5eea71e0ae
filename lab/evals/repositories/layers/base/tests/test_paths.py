import pytest

from strata.errors import Missing
from strata.paths import flat, get, put


def test_there_and_back():
    table = {}
    put(table, "server.port", 80)
    assert get(table, "server.port") == 80
    assert list(flat(table)) == [("server.port", 80)]


@pytest.mark.parametrize("name", ["server.host", "server.port.x", "x"])
def test_missing(name):
    with pytest.raises(Missing, match=f"no such setting: {name}"):
        get({"server": {"port": 80}}, name)
