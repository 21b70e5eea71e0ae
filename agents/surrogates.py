"""Half surrogate pairs: models write them, and no file and no request accepts them. Pure."""

from __future__ import annotations

import json
from typing import Any


def replace_surrogates(text: str) -> str:
    """The text with U+FFFD for each half, and one character for two halves that meet."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def fix_surrogates(value: Any) -> Any:
    """The same for all texts in a JSON value, keys included; the value itself if there is no
    half."""
    written = json.dumps(value, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:
        return json.loads(replace_surrogates(written))
    return value
