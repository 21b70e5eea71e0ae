from decimal import Decimal

from solution import totals


def test_plain_lines_in_the_order_of_their_appearance():
    text = "category,amount\nfood,1.10\nrent,700\nfood,2.20\n"
    got = totals(text)
    assert got == {"food": Decimal("3.30"), "rent": Decimal(700)}
    assert list(got) == ["food", "rent"]


def test_quotes_hold_commas_breaks_and_quotes():
    text = 'amount,note,category\n"1,234.50","a, b\nand c","eat ""out"", late"\n0.5,,x\n'
    assert totals(text) == {'eat "out", late': Decimal("1234.50"), "x": Decimal("0.5")}


def test_blanks_and_empty_categories():
    assert totals("category,amount\n  a ,1\na,2\n   ,5\n,6\n") == {"a": Decimal(3)}


def test_sums_are_exact():
    assert totals("category,amount\r\n" + "a,0.1\r\n" * 30) == {"a": Decimal("3.0")}


def test_a_header_alone():
    assert totals("category,amount\n") == {}
