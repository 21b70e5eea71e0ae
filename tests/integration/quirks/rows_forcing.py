"""How a tool is forced."""

from __future__ import annotations

from support.quirks.edits import object_choice
from support.quirks.quirk import refuses
from support.quirks.row import Row, on_all, openai

_NAMED = "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"

ROWS: list[Row] = [
    *on_all("a plain server"),
    openai("Groq's client, a plain server", name="groq:openai/gpt-oss-20b"),
    openai("DeepSeek's client, a plain server", name="deepseek:deepseek-v4-flash"),
    openai("OpenRouter's client, a plain server", name="openrouter:openai/gpt-oss-20b"),
    openai("OpenAI's client, a plain server", name="openai:gpt-5.4-mini"),
    openai(
        "a named object in tool_choice is refused",
        refuses(object_choice, 400, _NAMED),
        not_yet=True,
    ),
    openai(
        "a named object in tool_choice is refused by its `param` alone",
        refuses(object_choice, 422, "Unprocessable Entity", param="tool_choice"),
        not_yet=True,
    ),
]
