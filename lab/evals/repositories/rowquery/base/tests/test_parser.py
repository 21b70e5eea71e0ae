import pytest

from rowquery.errors import QueryError
from rowquery.parser import parse
from rowquery.tree import Both, Comparison, Either, Not

A, B, C = (Comparison(name, "=", 1.0) for name in "abc")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1", A),
        ("a = 1 or b = 1 and c = 1", Either(A, Both(B, C))),
        ("(a = 1 or b = 1) and c = 1", Both(Either(A, B), C)),
        ("not (a = 1 and b = 1)", Not(Both(A, B))),
        ("a = 1 and not b = 1", Both(A, Not(B))),
    ],
)
def test_trees(text, tree):
    assert parse(text) == tree


@pytest.mark.parametrize("text", ["", "a", "a = ", "a = 1 b", "(a = 1", "a = b"])
def test_what_is_no_query(text):
    with pytest.raises(QueryError, match="expected"):
        parse(text)
