import pytest

from tally.errors import TallyError
from tally.money import Money


@pytest.mark.parametrize(
    ("text", "cents"), [("3", 300), ("1,234.5", 123450), ("-0.07", -7), (" 2.30 ", 230)]
)
def test_read(text, cents):
    assert Money.read(text).cents == cents


@pytest.mark.parametrize("text", ["", "1.234", "a", "--1"])
def test_what_is_no_amount(text):
    with pytest.raises(TallyError):
        Money.read(text)


def test_shown():
    assert str(Money(-123456)) == "-1,234.56"


def test_split_evenly():
    assert Money(900).split(3) == [Money(300)] * 3
