"""How a tool is forced."""

from __future__ import annotations

from support.quirks.edits import object_choice
from support.quirks.quirk import refuses
from support.quirks.refusals import NAMED_TOOL
from support.quirks.row import Row, openai

ROWS: list[Row] = [
    openai(
        "a named object in tool_choice is refused",
        refuses(object_choice, 400, NAMED_TOOL),
    ),
    openai(
        "a named object in tool_choice is refused by its `param` alone",
        refuses(object_choice, 422, "Unprocessable Entity", param="tool_choice"),
    ),
]
