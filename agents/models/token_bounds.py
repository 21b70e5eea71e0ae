"""The limit on the output tokens of a request, and upper bounds on all of its tokens. Pure.

A token encodes at least one byte of text, so a text has no more tokens than bytes. For prose
that is about four times too many. For the messages that the same model has counted before, its own
count is used, and only newer ones are counted in bytes. System prompts and tool descriptions are
English: two bytes a token are still twice too many.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage

from agents.models.replies.fields import answered_by
from agents.ports.spending import Usage

PER_REQUEST = 1_000
"""The tokens that providers add to a request: instructions for tools, the chat template."""
PER_MESSAGE = 32
PER_IMAGE = 5_000
"""For an image of at most 2,048 pixels a side: Gemini counts 258 tokens for each tile of 768
pixels, and the other providers at most 5,000."""
_ENGLISH_BYTES = 2
_USUAL_CHARACTERS = 4
_USUAL_REPLY = 1_000


def max_usage(
    model: str, messages: Sequence[BaseMessage], options: Mapping[str, Any], output: int
) -> Usage:
    """The most that a request can use. `options` are sent with it, above all the tools."""
    for position in range(len(messages) - 1, -1, -1):
        if (counted := _counted(messages[position], model)) is not None:
            added = messages[position + 1 :]
            return Usage(counted + PER_REQUEST + sum(map(_size, added)), output)
    size = PER_REQUEST + len(json.dumps(options, default=str).encode()) // _ENGLISH_BYTES
    return Usage(size + sum(map(_size, messages)), output)


def estimated_usage(messages: Sequence[BaseMessage], output: int) -> int:
    """About how many tokens a request uses: four characters a token, and a reply of usual size."""
    request_tokens = sum(len(str(message.text)) for message in messages) // _USUAL_CHARACTERS
    return request_tokens + min(output, _USUAL_REPLY)


def _counted(message: BaseMessage, model: str) -> int | None:
    """The tokens up to the end of this reply, by the same model's count."""
    if not isinstance(message, AIMessage) or (usage := Usage.of(message)) is None:
        return None
    if answered_by(message) != model:
        return None
    return usage.input_tokens + usage.output_tokens


def _size(message: BaseMessage) -> int:
    content = message.content
    images = 0
    if not isinstance(content, str):
        blocks = [block for block in content if not _is_image(block)]
        images, content = len(content) - len(blocks), json.dumps(blocks, default=str)
    size = PER_MESSAGE + PER_IMAGE * images + len(content.encode(errors="replace"))
    if isinstance(message, SystemMessage):
        return size // _ENGLISH_BYTES
    if isinstance(message, AIMessage):
        calls = [*message.tool_calls, *message.invalid_tool_calls, message.additional_kwargs]
        size += len(json.dumps(calls, default=str).encode())
    return size


def _is_image(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "image_url"


MOST_OUTPUT = 32_000
"""The most tokens of a reply, if the operator sets no limit: enough for a long file in one call."""
SMALL_OUTPUT = 8_192
"""Tokens of a reply if the limits of the model are not known, or if a budget cannot pay for a reply
in full length."""


@dataclass(frozen=True, slots=True)
class OutputLimit:
    """The limit on the output tokens of a model."""

    configured: int | None = None
    """The operator's limit; None: see MOST_OUTPUT."""
    model_limit: int | None = None
    """The model's own limit; None: the library of its client does not know a limit."""
    thinking: int = 0
    """The tokens that are added for a model that thinks first."""

    @property
    def most(self) -> int:
        """The limit in the largest context."""
        most = (self.configured or MOST_OUTPUT) + self.thinking
        return min(most, self.model_limit or most)

    def within(self, context: int | None) -> int:
        """The limit in a context of this number of tokens; None: not known.

        A reply takes at most half of the context. If the operator sets no limit, it takes at most a
        quarter, but a small reply is always possible.
        """
        if context is None:
            usual = MOST_OUTPUT if self.model_limit else SMALL_OUTPUT
        else:
            usual = max(SMALL_OUTPUT, context // 4)
        most = self.most if self.configured else min(self.most, usual + self.thinking)
        return most if context is None else min(most, context // 2)
