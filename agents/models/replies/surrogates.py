"""Half a surrogate pair: models do write it, and no file and no request takes it. Pure."""

from __future__ import annotations

import json
from typing import Any


def replace_surrogates(text: str) -> str:
    """The text with U+FFFD for each half alone, and with two halves that meet as one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def fix_surrogates(value: Any) -> Any:
    """The same for all texts in a JSON value, keys too; the value itself where there is no half."""
    written = json.dumps(value, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:
        return json.loads(replace_surrogates(written))
    return value
