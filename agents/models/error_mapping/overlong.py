"""What a provider tells of a request that was too long for it, in tokens.

None of them has a field for it but llama.cpp; what they say is as the threads below quote it.
OpenAI, vLLM, DeepSeek, OpenRouter: https://github.com/vllm-project/vllm/issues/20409
Anthropic: https://github.com/docker/docker-agent/issues/569
Gemini: https://github.com/google-gemini/gemini-cli/issues/4692
llama.cpp: https://github.com/ggml-org/llama.cpp/pull/15780
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

LEAST = 256
"""Fewer is no model's context: it was another figure."""
_FIGURE = r"(\d{1,3}(?:,\d{3})+|\d{1,9})\b"
_ROOM = [
    re.compile(pattern + _FIGURE, re.IGNORECASE)
    for pattern in (
        r"context length (?:is|of)(?: only)? ",
        r"context window of ",
        r"context size \(",
        r"configured limit of ",
        r"tokens? allowed \(",
        r" > ",  # Anthropic: `208310 tokens > 200000 maximum`, `178959 + 64000 > 200000`
        r"\bLimit:? ",  # Groq's, of a minute
    )
]
_TOOK = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\({_FIGURE} (?:in the messages|in your prompt|of text input)",
        rf"\b{_FIGURE} input tokens",
        rf"resulted in {_FIGURE}",
        rf"request \({_FIGURE} tokens",
        rf"requested (?:about )?(?:tokens \()?{_FIGURE}",
        rf"too long: {_FIGURE}",
        rf"token count \({_FIGURE}\)",
        rf"context limit: {_FIGURE} \+",
    )
]


def limits_in(message: str, details: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """(the tokens that it has room for, those that the request took), as far as it says so.

    What the request took may count the room for the reply, where nothing else is told.
    """
    limit = _plausible(details.get("n_ctx")) or _found(_ROOM, message)
    used = _plausible(details.get("n_prompt_tokens")) or _found(_TOOK, message)
    return limit, used


def _found(patterns: list[re.Pattern[str]], message: str) -> int | None:
    for pattern in patterns:
        if (found := pattern.search(message)) and (
            figure := _plausible(int(found[1].replace(",", "")))
        ):
            return figure
    return None


def _plausible(figure: Any) -> int | None:
    return figure if type(figure) is int and figure >= LEAST else None


LEARNED_SECONDS = 900.0
"""A limit may be of a minute (Groq), of a plan or of a server that is started anew with a larger
context. One refused request in this time is what it costs to find out."""


class LearnedLimit:
    """The tokens of a request with its reply; the least of what was told within the time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tokens = 0
        self._until = 0.0

    def note(self, tokens: int) -> None:
        """A request was refused, for there is room for no more than `tokens`."""
        self._tokens = min(tokens, self.tokens or tokens)
        self._until = self._clock() + LEARNED_SECONDS

    @property
    def tokens(self) -> int | None:
        """The limit; None where nothing was told, or not lately."""
        return self._tokens if self._clock() < self._until else None
