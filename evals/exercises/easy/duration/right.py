import re

_PARTS = re.compile(
    r"\s*(?:([0-9]+)d)?\s*(?:([0-9]+)h)?\s*(?:([0-9]+)m)?\s*(?:([0-9]+)s)?\s*", re.ASCII
)


def seconds(text):
    found = _PARTS.fullmatch(text)
    if found is None or not any(found.groups()):
        raise ValueError(f"{text!r} is no duration")
    units = (86_400, 3_600, 60, 1)
    return sum(int(n or 0) * unit for n, unit in zip(found.groups(), units, strict=True))
