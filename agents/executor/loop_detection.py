"""Detects a model that repeats the same call. Pure.

`failures.escalation` has its own rules for failed runs. This is for everything else: looking at
files, tools that do not exist, runs that have succeeded before. A call's answer does not matter,
because nothing happens between two equal calls in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from agents.executor.plan_progress import without_steps
from agents.history import this_pass
from agents.models.replies.fields import answered_by

MAX_REPEATS = 5
"""Replies in a row with the same calls, by the same model, that end a pass."""


def repeated_call(messages: Sequence[AnyMessage]) -> str | None:
    """Why the pass has to end, or None."""
    replies = [each for each in this_pass(messages) if isinstance(each, AIMessage)][-MAX_REPEATS:]
    made = [_made(reply) for reply in replies]
    if len(made) < MAX_REPEATS or not replies[-1].tool_calls or made.count(made[-1]) < MAX_REPEATS:
        return None
    return f"the same call was made {MAX_REPEATS} times in a row"


def _made(reply: AIMessage) -> tuple[Any, ...]:
    calls = [(call["name"], without_steps(call["args"])) for call in reply.tool_calls]
    return answered_by(reply), calls
