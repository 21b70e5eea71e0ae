"""Calls that cost money or change files. Each is made once, whatever crashes.

A finished call is recalled from the journal, which charges nothing, runs nothing and emits nothing.
A new call is made and then recorded, with everything that it caused, in one port call.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar, cast
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage

from agents.attempt import Ports
from agents.calls.call_key import digest, message_values
from agents.calls.serializable import make_serializable
from agents.calls.serializer import SERIALIZER
from agents.context.overflow import Draft, Messages, Shares, ask_within_context
from agents.errors import StateUnreadable
from agents.models.call_context import calling
from agents.models.chains import Role
from agents.models.fallback import ask_first_available
from agents.models.name import ModelName
from agents.models.replies.author import ANSWERED_BY
from agents.ports import CallKey, Charge, Event, Finished
from agents.ports.spending import LostReply, Usage
from agents.recordings.dump import dump_turn, record_turn
from agents.spending.budget import BudgetGuard

LOST_CALL = "lost|"
"""How the id of a charge begins whose reply never arrived in full."""

M = TypeVar("M", bound=BaseMessage)


@dataclass(frozen=True, slots=True)
class FullRequest:
    """A request as the model gets it: all messages, and the names of the tools offered."""

    messages: Sequence[BaseMessage]
    tools: Sequence[str]


async def journaled(ports: Ports, key: str, call: Callable[[], Awaitable[tuple[M, Finished]]]) -> M:
    """The message that `call` returns, now or before a crash. See `finished_call`.

    Raises StateUnreadable for a journal entry that is no message.
    """
    known = await ports.journal.recall(key)
    if known is not None:
        return cast("M", _recalled(key, known))
    await ports.cancel.check()
    message, done = await call()
    await ports.journal.record(key, done)
    return message


def _recalled(key: str, entry: bytes) -> BaseMessage:
    """The message of a journal entry. Raises StateUnreadable."""
    try:
        message = SERIALIZER.loads_typed(("msgpack", entry))
    except StateUnreadable as error:
        raise StateUnreadable(f"journal entry {key}: {error}") from error
    if not isinstance(message, BaseMessage):
        raise StateUnreadable(f"journal entry {key}: {type(message).__name__} is no message")
    return message


def finished_call(
    message: BaseMessage,
    *,
    events: Sequence[Event] = (),
    charge: Charge | None = None,
    workspace: str | None = None,
) -> Finished:
    """A finished call whose outcome is a message."""
    _, outcome = SERIALIZER.dumps_typed(message)
    return Finished(outcome, events, charge, workspace)


async def model_call(
    ports: Ports,
    role: Role,
    at: CallKey,
    messages: Messages,
    call: Callable[[Any, Messages], Awaitable[AIMessage]],
    *,
    offered: Sequence[str] = (),
    draft: Draft | None = None,
    whole: FullRequest | None = None,
    level: int = 0,
    varied: bool = False,
    more: Callable[[AIMessage], Sequence[Event]] = lambda _: (),
) -> AIMessage:
    """One call of the model of `role`, made once. `offered` are the names of its tools.

    `call` gets a chat model (that of the role at this `level`, or a fallback) and the messages to
    send: as much of `messages` or `draft` as fits into that model's context. The charge and the
    event name the model that answered. `whole` is the full request, if it is more than `messages`
    and `offered`. `varied`: at the temperature of repairs. A recorded turn is stored before the
    call, because the event refers to it. `more` are events that follow from the reply.

    The journal knows the call by its place and all of `messages`, before any is left out: a retry
    with another model, or with another context, recalls it (ADR 83).
    """
    given = whole or FullRequest(messages, offered)
    drawn = draft or Draft.of(messages, offered)

    guard: BudgetGuard

    async def ask(name: str, model: Any) -> AIMessage:
        nonlocal guard
        guard = _guard(ports, role, at, name)
        with calling(guard=guard), _noting(ports.unanswered, name):
            shares = Shares(ports.bounds.context_share, ports.bounds.critic_share)
            return await ask_within_context(model, role, drawn, partial(call, model), shares)

    async def make() -> tuple[AIMessage, Finished]:
        started = time.monotonic()
        listener = ports.tokens.of(at.key(), role) if ports.tokens is not None else None
        with calling(listener=listener):
            models = replace(ports.models, varied=varied)
            got = await ask_first_available(models, role, level, ask)
        message = _signed(make_serializable(got.message), got.model)
        seconds = time.monotonic() - started
        usage = Usage.of(message)
        cost = ports.prices.of(ModelName.parse(got.model), usage)
        call_id = message.id or at.key()
        charge = _charge(call_id, usage, role, got.model, cost, guard.reservation)
        fields = {**_fields(charge, seconds), **got.fields()}
        if ports.redaction is not None:
            turn = record_turn(
                role, got.model, given.messages, given.tools, message, ports.redaction
            )
            try:
                fields["recorded"] = await ports.workspace.keep(dump_turn(turn).encode())
            except BaseException:  # the answer is paid for, whatever stops us
                await ports.journal.paid(charge)
                raise
        event = Event(at, "model_called", fields)
        return message, finished_call(message, events=(event, *more(message)), charge=charge)

    return await journaled(ports, at.key(digest(role, offered, message_values(messages))), make)


def _guard(ports: Ports, role: Role, at: CallKey, name: str) -> BudgetGuard:
    """The guard of a call of one model. It charges replies that were paid and did not arrive."""

    async def charge(lost: LostReply, reservation: str | None) -> None:
        cost = ports.prices.of(ModelName.parse(name), lost.usage)
        call_id = lost.call or f"{LOST_CALL}{at.key()}|{uuid4()}"
        await ports.journal.paid(_charge(call_id, lost.usage, role, name, cost, reservation))

    return BudgetGuard(ports.budget, ports.prices, name, ports.cancel.check, charge)


@contextlib.contextmanager
def _noting(unanswered: dict[str, float], name: str) -> Iterator[None]:
    """Note a call that is cut off without a reply, as by the job's deadline."""
    started = time.monotonic()
    try:
        yield
    except asyncio.CancelledError:
        unanswered[name] = time.monotonic() - started
        raise


def _signed(message: AIMessage, model: str) -> AIMessage:
    message.response_metadata = {**message.response_metadata, ANSWERED_BY: model}
    return message


def _charge(
    call_id: str,
    usage: Usage | None,
    role: str,
    model: str,
    cost: Decimal | None,
    reservation: str | None,
) -> Charge:
    """`call_id` identifies this very call: if two workers both paid for it, both are charged."""
    return Charge(
        call=call_id,
        role=role,
        model=model,
        input_tokens=usage.input_tokens if usage else 0,
        output_tokens=usage.output_tokens if usage else 0,
        cost_usd=None if cost is None else format(cost, "f"),
        cached_input_tokens=usage.cached_input_tokens if usage else 0,
        reservation=reservation,
    )


def _fields(charge: Charge, seconds: float) -> dict[str, Any]:
    return {
        "call": charge.call,
        "role": charge.role,
        "model": charge.model,
        "input_tokens": charge.input_tokens,
        "cached_input_tokens": charge.cached_input_tokens,
        "output_tokens": charge.output_tokens,
        "cost_usd": charge.cost_usd,
        "seconds": round(seconds, 3),
    }
