"""Circles: a model that makes the same call again and again. Pure.

Failed runs have rules of their own (`agents.failures.escalation`); this is for all
else: looks, commands that are not there, runs that have succeeded before. A call's answer does not
matter: nothing lies between it and the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from agents.calls.journal import answered_by
from agents.executor.history import this_pass
from agents.executor.plan_progress import without_steps

MAX_REPEATS = 5
"""Replies in a row with the same calls, by the same model, before a pass ends."""


def repeated_call(messages: Sequence[AnyMessage]) -> str | None:
    """Why a pass is to end for the last of its replies, or None."""
    replies = [each for each in this_pass(messages) if isinstance(each, AIMessage)][-MAX_REPEATS:]
    made = [_made(reply) for reply in replies]
    if len(made) < MAX_REPEATS or not replies[-1].tool_calls or made.count(made[-1]) < MAX_REPEATS:
        return None
    return f"the same call was made {MAX_REPEATS} times in a row"


def _made(reply: AIMessage) -> tuple[Any, ...]:
    calls = [(call["name"], without_steps(call["args"])) for call in reply.tool_calls]
    return answered_by(reply), calls
