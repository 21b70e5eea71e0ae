"""How a tool is forced."""

from __future__ import annotations

from support.quirks.edits import object_choice
from support.quirks.quirk import refuses
from support.quirks.row import Row, openai

_NAMED = "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"

ROWS: list[Row] = [
    openai(
        "a named object in tool_choice is refused",
        refuses(object_choice, 400, _NAMED),
    ),
    openai(
        "a named object in tool_choice is refused by its `param` alone",
        refuses(object_choice, 422, "Unprocessable Entity", param="tool_choice"),
    ),
]
