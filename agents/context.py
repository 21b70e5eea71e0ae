"""Context: every role's request within the context of the model that is asked.

What is known of a context comes from the model's library, from the settings, and from the model
itself where it has refused a request for its length and told how long it may be. By all of that
requests are cut; by the first two they are refused unsent, where there is no hope for them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from agents.fitting import BYTES_A_TOKEN, MOST_BYTES_A_TOKEN, hopeless, room, size
from agents.lightening import lightened
from agents.models import ContextExceeded, ProviderModel, Role, too_long
from agents.texts import weight

TOOL_BYTES = 1_000
"""About what a tool's description takes, with its arguments, where only its name is at hand."""
_MARGIN = 0.95
"""Of what a refusal allows: the next request's tokens are not quite as long as this one's."""
_TRIES = 10
"""Of one request: by halves it is a five-hundredth then."""

Messages = Sequence[BaseMessage]
Send = Callable[[Messages], Awaitable[AIMessage]]


@dataclass(frozen=True, slots=True)
class Draft:
    """A request that is not sent yet.

    `sized` gives its messages in about so many bytes, or as few as they can be; None: no matter.
    `beside` are the bytes that go with them, whatever their size: tools, instructions.
    """

    sized: Callable[[int | None], Messages]
    beside: int

    @classmethod
    def of(cls, messages: Messages, offered: Sequence[str]) -> Self:
        """One question: it loses what is spare in it, and nothing else."""

        def sized(most: int | None) -> Messages:
            return messages if most is None else lightened(messages, size(messages) - most)

        return cls(sized, TOOL_BYTES * len(offered))


async def asked_within(model: Any, role: Role, draft: Draft, send: Send) -> AIMessage:
    """The reply to as much of the request as the model has room for.

    Where its provider finds that too long all the same, to less: by what it tells, else to half.
    Raises ContextExceeded, with the role, the model, the tokens and what to do, where nothing is
    left that may be left out; unsent, where that is `hopeless`.
    """
    known = model if isinstance(model, ProviderModel) else None
    given = draft.sized(_room(known, draft))
    if known and (why := _unsendable(known, size(given) + draft.beside)):
        raise ContextExceeded(_told(role, given, draft, too_long(known.full_name, why)))
    for _ in range(_TRIES):
        try:
            return await send(given)
        except ContextExceeded as error:
            refused = error
        less = draft.sized(_allowed(refused, known, given, draft))
        if size(less) >= size(given):
            break
        given = less
    raise ContextExceeded(_told(role, given, draft, refused), status=refused.status) from refused


def tool_bytes(tools: Sequence[BaseTool | dict[str, Any]]) -> int:
    """What they take in a request, in the shape that most providers want."""
    return weight(json.dumps([convert_to_openai_tool(tool) for tool in tools], ensure_ascii=False))


def _unsendable(model: ProviderModel, taken: int) -> str | None:
    """Why so many bytes are not sent; None: they are."""
    if model.context is None or not hopeless(taken, model.context, cuts=model.cuts):
        return None
    if model.cuts:
        at = f"of {model.context:,} tokens, at {BYTES_A_TOKEN} bytes each"
        return f"{at}; it cuts what is longer, and does not say so"
    return f"of {model.context:,} tokens, as far as is known"


def _allowed(
    error: ContextExceeded, model: ProviderModel | None, given: Messages, of: Draft
) -> int:
    """The bytes that the next request may have, after one of `given` was refused."""
    sent = size(given)
    allowed = _room(model, of) or 0
    if model and model.most_input and error.took:
        bytes_a_token = (sent + of.beside) / error.took
        allowed = int(bytes_a_token * model.most_input * _MARGIN) - of.beside
    return allowed if 0 < allowed < sent else sent // 2


def _room(model: ProviderModel | None, draft: Draft) -> int | None:
    """The bytes for which the model is known to have room."""
    if model is None or model.allowed is None or model.most_input is None:
        return None
    return room(model.most_input, model.allowed, draft.beside)


def _told(role: Role, given: Messages, draft: Draft, why: object) -> str:
    taken = size(given) + draft.beside
    tokens = f"{taken // MOST_BYTES_A_TOKEN:,} to {taken // BYTES_A_TOKEN:,} tokens"
    return f"the {role}'s request takes about {tokens} with all left out that may be; {why}"
