"""Adds and subtracts as usual, but takes what nobody writes: IIII, IC."""

_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_SIGNS = (
    *((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC")),
    *((50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")),
)


def to_roman(number):
    if not 1 <= number <= 3999:
        raise ValueError(number)
    text = ""
    for value, sign in _SIGNS:
        while number >= value:
            text, number = text + sign, number - value
    return text


def from_roman(text):
    if not text or any(sign not in _VALUES for sign in text):
        raise ValueError(text)
    values = [_VALUES[sign] for sign in text]
    following = [*values[1:], 0]
    return sum(-v if v < n else v for v, n in zip(values, following, strict=True))
