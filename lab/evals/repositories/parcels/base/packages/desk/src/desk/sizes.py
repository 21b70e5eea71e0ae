"""Sizes as people write them."""


def read_size(text):
    """(length, width, height) in cm of a text such as `30x20x10`. Raises ValueError."""
    parts = text.lower().split("x")
    if len(parts) != 3 or not all(part.strip().isdigit() for part in parts):
        raise ValueError(f"{text!r} is no size: write it as 30x20x10, in cm")
    return tuple(int(part) for part in parts)
