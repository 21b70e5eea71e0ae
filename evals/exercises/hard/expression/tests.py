from fractions import Fraction

import pytest
from solution import evaluate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("10-4-3", 3),
        ("100/10/2", 5),
        ("1/3+1/6", Fraction(1, 2)),
        ("0.1+0.2", Fraction(3, 10)),
        ("-2^2", -4),
        ("(-2)^2", 4),
        ("2^-1", Fraction(1, 2)),
        ("2^3^2", 512),
        ("2*-3", -6),
        ("--3", 3),
        ("-+-3", 3),
        ("7%4*2", 6),
        ("-7%4", 1),
        ("2-(-3)^3", 29),
        ("-2^-2", Fraction(-1, 4)),
        (" 1 +\t2 ", 3),
        ("0^0", 1),
        ("(1/2)^10", Fraction(1, 1024)),
    ],
)
def test_values(text, expected):
    got = evaluate(text)
    assert got == expected
    assert isinstance(got, Fraction)


def test_names():
    assert evaluate("a*_b1^2", {"a": 3, "_b1": Fraction(1, 2)}) == Fraction(3, 4)
    with pytest.raises(NameError):
        evaluate("x")
    with pytest.raises(NameError):
        evaluate("__import__", {})


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "1+", "*1", "(1", "1)", "()", "1 2", "1..2", ".5", "5.", "2a", "a b", "1,2"),
        *("2**3", "a(1)", "1;2", "1//2", "٣", "2^0.5", "2^1001", "2^(1/2)", "1_000", "'1'", "é"),
    ],
)
def test_faults(text):
    with pytest.raises(ValueError):
        evaluate(text, {"a": 1, "b": 1})


@pytest.mark.parametrize("text", ["1/0", "1%0", "0^-1", "1/(2-2)"])
def test_division_by_zero(text):
    with pytest.raises(ZeroDivisionError):
        evaluate(text)


@pytest.mark.parametrize("text", ["(" * 10_000 + "1" + ")" * 10_000, "-" * 10_000 + "1"])
def test_deep_nesting(text):
    try:
        assert evaluate(text) == 1
    except ValueError:
        pass


def test_long_sums_are_no_nesting():
    assert evaluate("+".join(["1"] * 20_000)) == 20_000
