"""Calls that cost money or change files: each is made once, also if the process crashes.

A finished call is recalled from the journal: this charges, runs and emits nothing. A new call is
made and then recorded, with everything that it caused, in one call of the port.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar, cast

from langchain_core.messages import BaseMessage

from agents.attempt import Ports
from agents.calls.serializer import SERIALIZER
from agents.errors import StateUnreadable
from agents.ports import Charge, Event, Finished

M = TypeVar("M", bound=BaseMessage)


async def journaled(ports: Ports, key: str, call: Callable[[], Awaitable[tuple[M, Finished]]]) -> M:
    """The message of `call`: recalled from the journal if the call has finished before.

    `call` returns the message and its journal entry (see `finished_call`). Raises Stopped if no new
    call may start, and StateUnreadable for a journal entry that is not a message.
    """
    entry = await ports.journal.recall(key)
    if entry is not None:
        return cast("M", _message_of(key, entry))
    await ports.cancel.check()
    message, finished = await call()
    await ports.journal.record(key, finished)
    return message


def finished_call(
    message: BaseMessage,
    *,
    events: Sequence[Event] = (),
    charge: Charge | None = None,
    workspace: str | None = None,
) -> Finished:
    """The journal entry of a call that has a message as its outcome."""
    _, outcome = SERIALIZER.dumps_typed(message)
    return Finished(outcome, events, charge, workspace)


def _message_of(key: str, entry: bytes) -> BaseMessage:
    """The message of a journal entry. Raises StateUnreadable."""
    try:
        message = SERIALIZER.loads_typed(("msgpack", entry))
    except StateUnreadable as error:
        raise StateUnreadable(f"journal entry {key}: {error}") from error
    if not isinstance(message, BaseMessage):
        raise StateUnreadable(f"journal entry {key}: {type(message).__name__} is no message")
    return message
