"""Quirk: one difference of a server from an ordinary server. A row applies its quirks in order.

A server answers a request in three steps, and a quirk may change each of them:

refuse  refuse the request before the model reads it: `Refusal`, `Raw` or None
say     replace the model's turn by another `Reply` or another kind of `Turn`
send    change the response: its events, its head, its pauses
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lab.provider import Raw, Refusal, Reply, Request, Turn

Event = dict[str, Any]


@dataclass(frozen=True)
class ReceivedRequest:
    """A request. `role` is planner, executor or critic. `count` numbers all requests of the server
    from 1. `again` numbers the requests of one role with the same number of tool results from 0.
    """

    request: Request
    role: str
    count: int
    again: int

    @property
    def body(self) -> Mapping[str, Any]:
        """The request's JSON."""
        return self.request.body

    @property
    def has_result(self) -> bool:
        """Whether the result of a tool call is sent back."""
        return any(message.speaker == "tool" for message in self.request.messages)


@dataclass(frozen=True)
class Sent:
    """A response. An item of `items` is an event, the text after `data: ` (such as `[DONE]`), bytes
    that are sent as they are, or a pause in seconds."""

    items: Sequence[Event | str | bytes | float]
    content_type: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    ends: bool = True

    def with_events(self, edit: Callable[[Event], Any]) -> Sent:
        """The response with each event edited; `edit` returns an item, a list of items or None."""
        items: list[Any] = []
        for item in self.items:
            edited = edit(item) if isinstance(item, dict) else item
            items += edited if isinstance(edited, list) else [edited]
        return replace(self, items=[item for item in items if item is not None])


When = Callable[[ReceivedRequest], bool]


def always(received: ReceivedRequest) -> bool:
    """For every request."""
    return True


@dataclass(frozen=True)
class Quirk:
    """One difference of a server; see the docstring of the module."""

    refuse: Callable[[ReceivedRequest], Turn | None] = lambda _received: None
    say: Callable[[ReceivedRequest, Reply], Turn] = lambda _received, reply: reply
    send: Callable[[ReceivedRequest, Sent], Sent] = lambda _received, sent: sent


def refuses(when: When, status: int, message: str, /, **fields: Any) -> Quirk:
    """A refusal in the error object of the wire format; `fields` are added to that object."""
    refusal = Refusal(status, message, fields=fields)
    return Quirk(refuse=lambda received: refusal if when(received) else None)


def answers(
    when: When,
    status: int,
    body: bytes | str = b"",
    content_type: str = "application/json",
    **headers: str,
) -> Quirk:
    """A response with exactly this body. `retry_after="1"` is the header `retry-after`."""
    raw = Raw(
        [body.encode() if isinstance(body, str) else body],
        content_type,
        status,
        {name if "-" in name else name.replace("_", "-"): headers[name] for name in headers},
    )
    return Quirk(refuse=lambda received: raw if when(received) else None)


def plays(when: When, turn: Turn) -> Quirk:
    """Another turn instead of the model's turn, such as `Cut()` or `Hang(1)`."""
    return Quirk(refuse=lambda received: turn if when(received) else None)


def says(edit: Callable[[Reply], Turn], when: When = always) -> Quirk:
    """Another reply of the model."""
    return Quirk(say=lambda received, reply: edit(reply) if when(received) else reply)


def sends(edit: Callable[[Sent], Sent], when: When = always) -> Quirk:
    """Another response."""
    return Quirk(send=lambda received, sent: edit(sent) if when(received) else sent)


def each_event(edit: Callable[[Event], Any], when: When = always) -> Quirk:
    """Another form of each event; see `Sent.with_events`."""
    return sends(lambda sent: sent.with_events(edit), when)


def role(*names: str) -> When:
    """For requests of these roles."""
    return lambda received: received.role in names


def has(*fields: str) -> When:
    """For bodies with one of these fields; `a.b` is the field b of the object a."""

    def has_path(received: ReceivedRequest, path: str) -> bool:
        value: Any = received.body
        for name in path.split("."):
            if not isinstance(value, Mapping) or value.get(name) is None:
                return False
            value = value[name]
        return True

    return lambda received: any(has_path(received, path) for path in fields)


def first(count: int = 1, of: When = always) -> When:
    """For the first `count` tries of each step of the job."""
    return lambda received: of(received) and received.again < count


def both(*conditions: When) -> When:
    """For requests that fulfil all these conditions."""
    return lambda received: all(condition(received) for condition in conditions)


def second_call(received: ReceivedRequest) -> bool:
    """For the executor's requests that return a tool's result."""
    return received.role == "executor" and received.has_result


SECOND_CALL_ONCE = both(second_call, first())
"""For the first request that returns a tool's result."""


def first_call(received: ReceivedRequest) -> bool:
    """For the executor's requests before the first tool result."""
    return received.role == "executor" and not received.has_result
