"""The harmony format of gpt-oss, if a server leaves it in the text of a reply. Pure.

Shapes: https://cookbook.openai.com/articles/openai-harmony
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FORM = "<|channel|>"
_MESSAGE = re.compile(
    r"(?:\s*<\|start\|>)?(?P<head>\w*(?:\s+to=[\w.:-]+)?\s*(?:<\|(?:channel|constrain)\|>[^<]*)*)<\|message\|>"
    r"(?P<body>.*?)"
    r"(?:<\|(?:end|call|return)\|>\s*|(?=<\|(?:start|channel)\|>)|\Z)",
    re.DOTALL,
)
_WITHOUT_TOKENS = re.compile(
    r"\s*(?:(?:analysis.*?)?assistant)?commentary to=(?P<tool>[\w.:-]+)\s*(?:(?:json|code)\s*)?"
    r"(?P<arguments>\{.*\})\s*"
    r"|\s*analysis.*?assistantfinal(?P<text>.+)",
    re.DOTALL,
)
"""A call or an answer from a server that drops the special tokens."""
_TO = re.compile(r"\bto=([\w.:-]+)")


@dataclass(frozen=True, slots=True)
class HarmonyText:
    """The text for the reader, and each call as its name and its arguments as text."""

    text: str
    calls: tuple[tuple[str, str], ...]


def read_harmony(text: str) -> HarmonyText | None:
    """The messages in a text that consists of them; None for any other text."""
    if plain := _WITHOUT_TOKENS.fullmatch(text):
        call = (plain["tool"], plain["arguments"])
        return HarmonyText((plain["text"] or "").strip(), (call,) if plain["tool"] else ())
    texts: list[str] = []
    calls: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        message = _MESSAGE.match(text, position)
        if message is None or "<|channel|>" not in message["head"]:
            return None
        position = message.end()
        if to := _TO.search(message["head"]):
            calls.append((to[1], message["body"]))
        elif "analysis" not in message["head"]:
            texts.append(message["body"].strip())
    return HarmonyText("\n\n".join(texts), tuple(calls)) if text else None
