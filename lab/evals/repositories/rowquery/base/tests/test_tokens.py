import pytest

from rowquery.errors import QueryError
from rowquery.tokens import tokens


def test_kinds():
    kinds = [each.kind for each in tokens('age >= -3.5 AND name ~ "x"')]
    assert kinds == ["word", "sign", "number", "and", "word", "sign", "text", "end"]


@pytest.mark.parametrize(("text", "value"), [(r'"a \"b\""', 'a "b"'), (r'"\\"', "\\")])
def test_quotes(text, value):
    assert tokens(text)[0].value == value


def test_an_unexpected_sign():
    with pytest.raises(QueryError, match="at 5"):
        tokens("age % 3")
