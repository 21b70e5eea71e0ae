"""Refusal sentences of servers that several files use."""

from __future__ import annotations

DEEPSEEK_THOUGHTS = "The `reasoning_content` in the thinking mode must be passed back to the API."
KIMI_THOUGHTS = (
    "thinking is enabled but reasoning_content is missing in assistant tool call message"
)
GEMINI_SIGNATURE = "Function call is missing a thought_signature in functionCall parts."
NAMED_TOOL = "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"
