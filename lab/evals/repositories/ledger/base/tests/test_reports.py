from datetime import date

from tally.parser import parse
from tally.reports import balance, month, monthly
from tests.journals import HOUSEHOLD


class TestBalance:
    def test_parents_are_included(self):
        sums = balance(parse(HOUSEHOLD))
        assert str(sums["expenses"]) == "1,900.00"
        assert str(sums["expenses:food"]) == "1,050.00"

    def test_until(self):
        assert str(balance(parse(HOUSEHOLD), until=date(2024, 1, 31))["assets"]) == "-850.00"


def test_monthly():
    sums = monthly(parse(HOUSEHOLD), "expenses:food")
    assert {key: str(each) for key, each in sums.items()} == {(2024, 2): "1,050.00"}


def test_month():
    assert month(2023, 12) == (date(2023, 12, 1), date(2023, 12, 31))
