import pytest

from rowquery.compare import compared


@pytest.mark.parametrize(
    ("cell", "sign", "value", "holds"),
    [
        ("10", ">", 9.0, True),
        ("n/a", "<", 9.0, False),
        ("n/a", "!=", 9.0, True),
        ("Graz", "~", "GRA", True),
        ("b", ">", "a", True),
    ],
)
def test_compared(cell, sign, value, holds):
    assert compared(cell, sign, value) is holds
