"""Picks out every number with a unit, and looks at nothing else."""

import re

_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


def seconds(text):
    parts = re.findall(r"(\d+)([dhms])", text)
    if not parts:
        raise ValueError(f"{text!r} is no duration")
    return sum(int(number) * _UNITS[unit] for number, unit in parts)
