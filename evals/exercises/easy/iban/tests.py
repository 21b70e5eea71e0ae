import pytest
from solution import iban

GOOD = {
    "DE89370400440532013000": "DE89 3704 0044 0532 0130 00",
    "gb29 nwbk 6016 1331 9268 19": "GB29 NWBK 6016 1331 9268 19",
    " FR14 2004 1010 0505 0001 3M02 606 ": "FR14 2004 1010 0505 0001 3M02 606",
    "NO9386011117947": "NO93 8601 1117 947",
    "CH9300762011623852957": "CH93 0076 2011 6238 5295 7",
}


@pytest.mark.parametrize("text", GOOD)
def test_good_ones(text):
    assert iban(text) == GOOD[text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "DE",
        "DE88370400440532013000",  # a digit is wrong
        "DE89370400440532013",  # too short
        "NO93860111179470000000",  # of another country's length
        "XX89370400440532013000",  # no such country
        "DE89-3704-0044-0532-0130-00",
        "D989370400440532013000",
        "DEA9370400440532013000",
        "DE8937040044053201300٠",  # a digit, but not ours
        "DE89３70400440532013000",
        "GB29NWBK6016133192681Ä",
    ],
)
def test_bad_ones(text):
    with pytest.raises(ValueError):
        iban(text)


def remainder(text):
    moved = text[4:] + text[:4]
    return int("".join(str(int(sign, 36)) for sign in moved)) % 97


@pytest.mark.parametrize("check", ["00", "01", "99"])
def test_check_digits_that_are_never_given(check):
    # an account that the division alone would let through
    number = next(n for n in range(100_000) if remainder(f"NO{check}{n:011d}") == 1)
    with pytest.raises(ValueError):
        iban(f"NO{check}{number:011d}")
