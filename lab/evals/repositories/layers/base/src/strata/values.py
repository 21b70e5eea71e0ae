"""Values as text."""

import tomllib


def read(text):
    """As TOML where it is a value of that, else the text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def show(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(show, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)
