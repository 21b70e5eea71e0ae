"""Reads a query; docs/language.md has the language."""

from rowquery.errors import QueryError
from rowquery.tokens import tokens
from rowquery.tree import Both, Comparison, Either, Not


def parse(text):
    """The tree. Raises QueryError."""
    reader = _Reader(tokens(text))
    tree = reader.either()
    reader.take("end")
    return tree


class _Reader:
    def __init__(self, found):
        self._tokens, self._at = found, 0

    @property
    def next(self):
        return self._tokens[self._at]

    def take(self, kind, *values):
        token = self.next
        if token.kind != kind or (values and token.value not in values):
            raise QueryError(f"expected {' or '.join(values) or kind}", token.at)
        self._at += 1
        return token

    def skip(self, kind, *values):
        if self.next.kind == kind and (not values or self.next.value in values):
            return self.take(kind)
        return None

    def either(self):
        left = self.both()
        while self.skip("or"):
            left = Either(left, self.both())
        return left

    def both(self):
        if self.skip("not"):
            return Not(self.both())
        left = self.single()
        while self.skip("and"):
            left = Both(left, self.both())
        return left

    def single(self):
        if self.skip("sign", "("):
            inner = self.either()
            self.take("sign", ")")
            return inner
        column = self.take("word").value
        sign = self.take("sign", "=", "!=", "<", "<=", ">", ">=", "~").value
        token = self.next
        if token.kind not in {"number", "text"}:
            raise QueryError("expected a number or a text", token.at)
        return Comparison(column, sign, self.take(token.kind).value)
