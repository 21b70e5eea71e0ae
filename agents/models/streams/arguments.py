"""The arguments of a tool call, as an object."""

from __future__ import annotations

import json
from typing import Any

from agents.models.replies.ending import MALFORMED


def arguments_object(arguments: Any) -> dict[str, Any]:
    """The object that a server sends, also as JSON text; {} if it sends nothing.

    Anything else is kept as text, under one name.
    """
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}
    value = arguments
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            return {MALFORMED: arguments}
    return value if isinstance(value, dict) else {MALFORMED: str(arguments)}
