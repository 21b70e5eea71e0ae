import pytest
from solution import first_fault


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("", None),
        ("f(a[1], {2: 3})", None),
        ("(]", 1),
        ("([)]", 2),
        (")", 0),
        ("a(b[c", 3),
        ("((", 1),
        ("(a)(", 3),
        ("f(')')", None),
        ('f("]" + x]', 9),
        (r"f('\')')", None),
        (r'"\\")', 4),
        ("'(", None),
        ("('(", 0),
        ("""f("it's" )""", None),
        ("""f('"(')""", None),
    ],
)
def test_faults(code, expected):
    assert first_fault(code) == expected
