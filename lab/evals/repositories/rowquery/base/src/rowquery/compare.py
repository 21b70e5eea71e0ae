"""Comparing a cell with a value."""

import operator

_SIGNS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compared(cell, sign, value):
    """A cell that is no number is never less or more than one, and differs from each."""
    if sign == "~":
        return str(value).lower() in cell.lower()
    if isinstance(value, float):
        number = as_number(cell)
        if number is None:
            return sign == "!="
        return _SIGNS[sign](number, value)
    return _SIGNS[sign](cell, value)


def as_number(cell):
    try:
        return float(cell)
    except ValueError:
        return None
