import re
from fractions import Fraction

_TOKEN = re.compile(
    r"\s*(?:([0-9]+(?:\.[0-9]+)?)(?![A-Za-z0-9_.])|([A-Za-z_][A-Za-z0-9_]*)|([-+*/%^()]))", re.ASCII
)
_DEEPEST = 100
_LARGEST_EXPONENT = 1000


def evaluate(text, names=None):
    return _Reader(_tokens(text), names or {}).whole()


def _tokens(text):
    found, at = [], 0
    text = text.rstrip(" \t\n\r")
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"cannot read on at {at}")
        found.append(match.groups())
        at = match.end()
    return found


class _Reader:
    def __init__(self, tokens, names):
        self._tokens, self._names = tokens, names
        self._at = self._depth = 0

    def whole(self):
        value = self._sum()
        if self._at < len(self._tokens):
            raise ValueError("something is left over")
        return value

    def _take(self, *signs):
        if self._at < len(self._tokens) and self._tokens[self._at][2] in signs:
            self._at += 1
            return self._tokens[self._at - 1][2]
        return None

    def _sum(self):
        value = self._product()
        while sign := self._take("+", "-"):
            other = self._product()
            value = value + other if sign == "+" else value - other
        return value

    def _product(self):
        value = self._signed()
        while sign := self._take("*", "/", "%"):
            other = self._signed()
            value = (
                value * other if sign == "*" else value / other if sign == "/" else value % other
            )
        return Fraction(value)

    def _signed(self):
        negative = False
        while sign := self._take("+", "-"):
            negative ^= sign == "-"
        value = self._power()
        return -value if negative else value

    def _power(self):
        base = self._atom()
        if not self._take("^"):
            return base
        with self:
            exponent = self._signed()
        if exponent.denominator != 1 or abs(exponent) > _LARGEST_EXPONENT:
            raise ValueError("an exponent is a whole number of at most 1000")
        return Fraction(base ** int(exponent))

    def _atom(self):
        if self._take("("):
            with self:
                value = self._sum()
            if not self._take(")"):
                raise ValueError("a parenthesis is not closed")
            return value
        if self._at == len(self._tokens):
            raise ValueError("something is missing at the end")
        number, name, _ = self._tokens[self._at]
        self._at += 1
        if number is not None:
            return Fraction(number)
        if name is None:
            raise ValueError("a number or a name is missing")
        if name not in self._names:
            raise NameError(name)
        return Fraction(self._names[name])

    def __enter__(self):
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("nested too deeply")

    def __exit__(self, *_):
        self._depth -= 1
