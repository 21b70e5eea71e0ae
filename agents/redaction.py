"""Redaction: removes secrets from the texts of recordings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from agents.texts import replace_surrogates

REMOVED = "<secret-removed>"
SHORTEST = 6
"""The length of the shortest secret that is removed: a shorter text may be part of usual words."""

_BEGINNINGS = ("gsk_", "AIza", "sk-", "fettle_", "AKIA", "ASIA", "-----BEGIN")
"""The beginnings of all shapes: a search for these takes a tenth of the time of the pattern."""

_SHAPES = re.compile(
    r"gsk_[A-Za-z0-9]{20,}"  # Groq
    r"|AIza[A-Za-z0-9_-]{30,}"  # Google
    r"|\bsk-[A-Za-z0-9_-]{20,}"  # OpenAI, Anthropic
    r"|fettle_[A-Za-z0-9_-]{20,}"  # Fettle's API keys
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"  # Amazon's
)
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY_ENDS = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
_HEADER = re.compile(
    r"""(authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+)[A-Za-z0-9._~+/=-]{8,}""",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Redaction:
    """Removes the given secrets, texts that look like keys, and Authorization headers.

    Recorded texts and texts that are compared with a recording are both redacted, so that a prompt
    with a secret still matches. A second redaction changes nothing.
    """

    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, secrets: Iterable[str]) -> Self:
        """The redaction of these secrets. Longer secrets are removed first, because a secret may be
        part of another one."""
        stripped = {secret.strip() for secret in secrets}
        removable = [secret for secret in stripped if len(secret) >= SHORTEST]
        return cls(tuple(sorted(removable, key=lambda secret: (-len(secret), secret))))

    def text(self, text: str) -> str:
        """The text without secrets. Half a surrogate pair, which no file accepts, becomes
        U+FFFD."""
        for secret in self.secrets:
            text = text.replace(secret, REMOVED)
        if "authorization" in text.lower():
            text = _HEADER.sub(rf"\1{REMOVED}", text)
        if any(beginning in text for beginning in _BEGINNINGS):
            text = _SHAPES.sub(REMOVED, _without_private_keys(text))
        return replace_surrogates(text)

    def value(self, value: Any) -> Any:
        """The JSON value with all texts and keys redacted."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        return value

    def __repr__(self) -> str:
        return f"Redaction({len(self.secrets)} secrets)"


def _without_private_keys(text: str) -> str:
    """The text without private keys in PEM. One pattern for a whole key would search for an end
    after each beginning, which takes the square of the time for twice the text."""
    parts, position = [], 0
    while (begin := _KEY_BEGINS.search(text, position)) is not None:
        end = _KEY_ENDS.search(text, begin.end())
        if end is None:
            break  # no later beginning has an end either
        parts += [text[position : begin.start()], REMOVED]
        position = end.end()
    return "".join((*parts, text[position:]))
