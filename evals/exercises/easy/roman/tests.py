import pytest
from solution import from_roman, to_roman


def test_there_and_back():
    for number in range(1, 4000):
        assert from_roman(to_roman(number)) == number


def test_known_ones():
    known = {4: "IV", 9: "IX", 40: "XL", 90: "XC", 400: "CD", 1994: "MCMXCIV", 3999: "MMMCMXCIX"}
    assert {number: to_roman(number) for number in known} == known


@pytest.mark.parametrize("number", [0, -1, 4000])
def test_numbers_outside(number):
    with pytest.raises(ValueError):
        to_roman(number)


@pytest.mark.parametrize(
    "text", ["", "IIII", "IC", "VX", "MCMC", "iv", "IXI", "VV", "MMMM", "IIX", "A", " X"]
)
def test_what_nobody_writes(text):
    with pytest.raises(ValueError):
        from_roman(text)
