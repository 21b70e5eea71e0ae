import pytest

from patience import Policy


def test_waits_grow():
    assert Policy(tries=5, first=1, factor=2, most=5).waits() == [1, 2, 4, 5]


@pytest.mark.parametrize("bad", [{"tries": 0}, {"first": -1}, {"factor": 0.5}], ids=str)
def test_a_bad_policy(bad):
    with pytest.raises(ValueError):
        Policy(**bad)
