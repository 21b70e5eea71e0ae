"""Precedence climbing with the sign taken first: -2^2 is 4, and powers go from left to right."""

import re
from fractions import Fraction

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([A-Za-z_]\w*)|(.))")
_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "^": 3}


def evaluate(text, names=None):
    tokens = [t for t in _TOKEN.findall(text.strip()) if any(t)]
    at = 0

    def atom():
        nonlocal at
        if at == len(tokens):
            raise ValueError("end")
        number, name, sign = tokens[at]
        at += 1
        if number:
            return Fraction(number)
        if name:
            if name not in (names or {}):
                raise NameError(name)
            return Fraction(names[name])
        if sign in "+-":
            return atom() if sign == "+" else -atom()
        if sign != "(":
            raise ValueError(sign)
        value = climb(1)
        if at == len(tokens) or tokens[at][2] != ")":
            raise ValueError(")")
        at += 1
        return value

    def climb(least):
        nonlocal at
        value = atom()
        while at < len(tokens) and _BINDS.get(tokens[at][2], 0) >= least:
            sign = tokens[at][2]
            at += 1
            other = climb(_BINDS[sign] + 1)
            if sign == "^":
                if other.denominator != 1 or abs(other) > 1000:
                    raise ValueError("exponent")
                value = Fraction(value ** int(other))
            else:
                value = {"+": value.__add__, "-": value.__sub__, "*": value.__mul__}.get(
                    sign, value.__truediv__ if sign == "/" else value.__mod__
                )(other)
        return value

    value = climb(1)
    if at < len(tokens):
        raise ValueError("rest")
    return value
