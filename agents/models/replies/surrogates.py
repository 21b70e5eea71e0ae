"""Half a surrogate pair: models do write it, and no file and no request takes it. Pure."""

from __future__ import annotations

import json
from typing import Any


def text_of(text: str) -> str:
    """The text with U+FFFD for each half alone, and with two halves that meet as one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def mended(value: Any) -> Any:
    """The same for all texts in a JSON value, keys too; the value itself where there is no half."""
    written = json.dumps(value, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:
        return json.loads(text_of(written))
    return value
