"""Several names in one setting."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_settings import NoDecode


def _names(value: Any) -> Any:
    """`a, b` as its parts, or a JSON list; nothing written is nothing set: compose sends it so."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return tuple(json.loads(value))
    return tuple(name for part in value.split(",") if (name := part.strip()))


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_names)]
"""Names, separated by commas. The order counts."""
