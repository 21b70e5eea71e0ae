"""One call of a role's model: guarded by the budget, journaled, charged, and recorded."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage

from agents.attempt import Ports
from agents.calls.call_key import digest, message_values
from agents.calls.journal import finished_call, journaled
from agents.calls.messages import as_request, mark_unread, note_messages, unread_messages
from agents.calls.serializer import make_serializable
from agents.context.overflow import Draft, Messages, Shares, ask_within_context
from agents.models.build import CallableModel
from agents.models.call_context import TokenListener
from agents.models.name import ModelName
from agents.models.replies.ending import notable_finish
from agents.models.replies.fields import ANSWERED_BY
from agents.models.role_models import FallbackReply, ask_first_available
from agents.ports import CallKey, Charge, Event, Finished, Role
from agents.ports.spending import LostReply, Usage
from agents.recordings.dump import dump_turn, record_turn
from agents.spending.budget import BudgetGuard

LOST_CALL = "lost|"
"""The prefix of a charge's id if the reply never arrived in full."""

SendToModel = Callable[[Any, Messages], Awaitable[AIMessage]]
"""Sends messages to a chat model, with the tools that the request offers."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call of the model of `role`. The journal knows the call by `key`, `role`, `tools` and all
    of `messages`, before any message is left out and before persons' messages are added: a retry
    with another model, or with another context, recalls the same reply (ADR 83)."""

    role: Role
    key: CallKey
    messages: Messages
    """The conversation. For the executor, without the system prompt: see `recorded_messages`."""
    tools: Sequence[str] = ()
    """The names of the offered tools that belong to the call's key in the journal."""
    draft: Draft | None = None
    """`messages`, with the size of tools and instructions for the model's context. None: the size
    is estimated from `tools`."""
    recorded_messages: Sequence[BaseMessage] | None = None
    """All messages, with the system prompt, for the job's recording; None: `messages`."""
    recorded_tools: Sequence[str] | None = None
    """The names of all offered tools, for the job's recording; None: `tools`."""
    level: int = 0
    """The position in the role's escalation chain: see `agents.models.role_models`."""
    varied: bool = False
    """Whether the model is called at the temperature of repairs. The `level` chooses the model."""

    @property
    def journal_key(self) -> str:
        """The key of the call in the journal."""
        return self.key.key(digest(self.role, self.tools, message_values(self.messages)))

    def with_messages(self, added: Sequence[BaseMessage]) -> ModelCall:
        """The call with further messages at its end."""
        messages, recorded = [*self.messages, *added], self.recorded_messages
        return replace(
            self,
            messages=messages,
            draft=self.draft and replace(self.draft, messages=messages),
            recorded_messages=recorded and [*recorded, *added],
        )


async def model_call(
    ports: Ports,
    call: ModelCall,
    send: SendToModel,
    derived_events: Callable[[AIMessage], Sequence[Event]] = lambda _: (),
) -> AIMessage:
    """The reply to `call`, made once; recalled from the journal after a crash.

    `send` gets a chat model (the role's at this level, or a fallback) and as many of the messages
    as fit into that model's context. `derived_events` follow from the reply, and are recorded with
    the call. Raises ModelError, BudgetExhausted and Stopped.
    """
    return await journaled(
        ports, call.journal_key, partial(_make_call, ports, call, send, derived_events)
    )


async def _make_call(
    ports: Ports,
    call: ModelCall,
    send: SendToModel,
    derived_events: Callable[[AIMessage], Sequence[Event]],
) -> tuple[AIMessage, Finished]:
    read = await unread_messages(ports, call.role, call.messages)
    call = call.with_messages([as_request(message) for message in read])
    started = time.monotonic()
    chain = _ModelChain(ports, call, send)
    reply = await chain.ask()
    seconds = time.monotonic() - started
    message = make_serializable(reply.message)
    message.response_metadata = {**message.response_metadata, ANSWERED_BY: reply.model}
    call_id = message.id or call.key.key()
    usage = Usage.of(message)
    charge = _charge(ports, call.role, reply.model, call_id, usage, chain.reservation)
    try:
        recorded = await _store_turn(ports, call, reply.model, message)
        calls_tool = message.tool_calls or message.invalid_tool_calls
        ends_pass = call.role == "executor" and not calls_tool
        unread = await unread_messages(ports, call.role, call.messages) if ends_pass else ()
    except BaseException:  # the reply is paid for, also if it cannot be recorded
        await ports.journal.paid(charge)
        raise
    note_messages(message, read)
    if unread:
        mark_unread(message)
    data = {**_event_data(charge, seconds), **reply.skipped_data(), **recorded}
    events = [Event(call.key, "model_called", data), *derived_events(message)]
    if numbers := [message.number for message in read]:
        reading = {"messages": numbers, "role": call.role}
        events.insert(0, Event(call.key, "messages_read", reading))
    return message, finished_call(message, events=events, charge=charge)


class _ModelChain:
    """The chain of models of one call. Each model is called with a guard of its own, so that a lost
    reply is charged to the model that sent it."""

    def __init__(self, ports: Ports, call: ModelCall, send: SendToModel) -> None:
        self._ports = ports
        self._call = call
        self._send = send
        self._listener: TokenListener | None = None
        self._guard: BudgetGuard | None = None

    @property
    def reservation(self) -> str | None:
        """The reservation of the last request, which the charge of the reply settles."""
        return self._guard.reservation if self._guard else None

    async def ask(self) -> FallbackReply:
        """The first reply of a model of the chain."""
        ports, call = self._ports, self._call
        if ports.tokens is not None:
            self._listener = ports.tokens.of(call.key.key(), call.role)
        models = replace(ports.models, varied=call.varied)
        try:
            return await ask_first_available(models, call.role, call.level, self._ask_model)
        finally:
            if self._listener is not None:
                self._listener.end()

    async def _ask_model(self, name: str, model: CallableModel) -> AIMessage:
        ports, call = self._ports, self._call
        draft = call.draft or Draft.of(call.messages, call.tools)
        shares = Shares(ports.bounds.context_share, ports.bounds.critic_share)
        self._guard = _guard(ports, call, name)
        model = model.for_call(guard=self._guard, listener=self._listener)
        with _note_if_cancelled(ports.unanswered, name):
            return await ask_within_context(
                model, call.role, draft, partial(self._send, model), shares
            )


def _guard(ports: Ports, call: ModelCall, name: str) -> BudgetGuard:
    """The guard of a call of one model. It charges replies that were paid and did not arrive."""

    async def charge_lost(lost: LostReply, reservation: str | None) -> None:
        call_id = lost.call or f"{LOST_CALL}{call.key.key()}|{uuid4()}"
        charge = _charge(ports, call.role, name, call_id, lost.usage, reservation)
        await ports.journal.paid(charge)

    return BudgetGuard(ports.budget, ports.prices, name, ports.cancel.check, charge_lost)


@contextlib.contextmanager
def _note_if_cancelled(unanswered: dict[str, float], name: str) -> Iterator[None]:
    """Note the seconds of a call that is cut off without a reply, as by the job's deadline."""
    started = time.monotonic()
    try:
        yield
    except asyncio.CancelledError:
        unanswered[name] = time.monotonic() - started
        raise


def _charge(
    ports: Ports,
    role: Role,
    model: str,
    call_id: str,
    usage: Usage | None,
    reservation: str | None,
) -> Charge:
    """The charge of one reply. `call_id` is the provider's id of the reply: if two workers paid for
    the call, both are charged. If the reply has no id, they are charged once."""
    cost = ports.prices.of(ModelName.parse(model), usage)
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


async def _store_turn(
    ports: Ports, call: ModelCall, model: str, message: AIMessage
) -> dict[str, str]:
    """Store the call as a turn of the job's recording, because the event refers to the turn.
    Returns {"recorded": digest}; empty if the job is not recorded."""
    if ports.redaction is None:
        return {}
    messages = call.messages if call.recorded_messages is None else call.recorded_messages
    tools = call.tools if call.recorded_tools is None else call.recorded_tools
    finish = notable_finish(message)
    turn = record_turn(call.role, model, messages, tools, message, finish, ports.redaction)
    return {"recorded": await ports.workspace.keep(dump_turn(turn).encode())}


def _event_data(charge: Charge, seconds: float) -> dict[str, Any]:
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
