import pytest

from tally.errors import BadLine, Unbalanced
from tally.parser import parse
from tests.journals import HOUSEHOLD


def test_a_missing_amount_is_filled_in():
    first, _ = parse(HOUSEHOLD).transactions
    assert str(first.postings[1].amount) == "-850.00"


def test_unbalanced():
    with pytest.raises(Unbalanced, match="1.00 is left over"):
        parse("2024-01-01 x\n  a  2.00\n  b  -1.00\n")


@pytest.mark.parametrize("text", ["  a  1\n", "2024-13-01 x\n", "rent\n"])
def test_bad_lines(text):
    with pytest.raises(BadLine, match="line 1"):
        parse(text)
