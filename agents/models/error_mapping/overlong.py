"""The token limits in a provider's refusal of a long request.

Only llama.cpp has a field for them. The threads below quote the others' messages.

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
"""No model's context is smaller: such a number means something else."""
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
LEARNED_SECONDS = 900.0
"""A limit can be per minute (Groq), of a plan, or of a server that restarts with a larger context.
To find out costs one refused request in this time."""


def limits_in(message: str, details: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """(the tokens that the model accepts, those of the request), as far as the message has them.

    The tokens of the request may include the reply's share, if no other number is given.
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


class LearnedLimit:
    """The tokens of a request with its reply: the lowest limit that was learned lately."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tokens = 0
        self._until = 0.0

    def note(self, tokens: int) -> None:
        """A request was refused, because the limit is `tokens`."""
        self._tokens = min(tokens, self.tokens or tokens)
        self._until = self._clock() + LEARNED_SECONDS

    @property
    def tokens(self) -> int | None:
        """The limit; None if none was learned lately."""
        return self._tokens if self._clock() < self._until else None
