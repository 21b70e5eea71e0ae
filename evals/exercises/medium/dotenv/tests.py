import pytest
from solution import read_env


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("A=1\nB=2\n", {"A": "1", "B": "2"}),
        ("  export  A = one two  \n", {"A": "one two"}),
        ("# A=1\n\n   # B=2\nC=3", {"C": "3"}),
        ("URL=http://x/#top # the page", {"URL": "http://x/#top"}),
        ("A=# nothing", {"A": "# nothing"}),
        ("A= # nothing", {"A": ""}),
        ("A=", {"A": ""}),
        ("A=1\nA=2", {"A": "2"}),
        ("A=b=c", {"A": "b=c"}),
        ("exported=1", {"exported": "1"}),
        ("A=it's", {"A": "it's"}),
        ("A=1\r\nB='2'\r\n", {"A": "1", "B": "2"}),
    ],
)
def test_plain(text, expected):
    assert read_env(text) == expected


def test_single_quotes():
    assert read_env(r"A='x # y\n' # c") == {"A": r"x # y\n"}


def test_double_quotes():
    assert read_env(r'A="a\nb\t\"c\" \\n \d # no"  # yes') == {"A": 'a\nb\t"c" \\n \\d # no'}


def test_several_lines():
    assert read_env("A='one\n# two\nthree'\nB=\"x\ny\" # z\nC=1") == {
        "A": "one\n# two\nthree",
        "B": "x\ny",
        "C": "1",
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("A=1\nB", 2),
        ("1A=1", 1),
        ("A-B=1", 1),
        ("=1", 1),
        ("A=1\n\nB='x\ny\n", 3),
        ("A='x' y", 1),
        ('A="x\ny"\nB="z" z', 3),
        ("export=1\nexport A", 2),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, line):
    with pytest.raises(ValueError, match=rf"\b{line}\b"):
        read_env(text)
