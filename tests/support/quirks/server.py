"""A server with quirks around a competent model, as a script of `lab.provider`."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Sequence

from support.quirks.quirk import Quirk, ReceivedRequest, Sent
from support.quirks.strict import objection

from lab.provider import Raw, Refusal, Reply, Request, ToolCall, Turn
from lab.provider.wire import DIALECTS

CODE = "print(6 * 7)"
ANSWER = "It prints 42."

Model = Callable[[ReceivedRequest], Turn]


def competent(received: ReceivedRequest) -> Turn:
    """A plan, one run, an answer, an approval."""
    match received.role:
        case "planner":
            return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Run it."]}),))
        case "critic":
            return Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve", "runs": ["r1"]}),))
        case _ if any("42" in m.text for m in received.request.messages if m.speaker == "tool"):
            return Reply(ANSWER)
        case _:
            return Reply(tool_calls=(ToolCall("python", {"code": CODE}),))


def calls(*tool_calls: ToolCall) -> Model:
    """A competent model that, as the executor, makes these calls one after the other."""

    def model(received: ReceivedRequest) -> Turn:
        done = sum(message.speaker == "tool" for message in received.request.messages)
        if received.role != "executor" or done >= len(tool_calls):
            return competent(received)
        return Reply(tool_calls=(tool_calls[done],))

    return model


class QuirkyServer:
    """The script of one server; call it with each request."""

    def __init__(
        self, quirks: Sequence[Quirk], model: Model = competent, *, strict: bool = True
    ) -> None:
        self._quirks = quirks
        self._model = model
        self._strict = strict
        self._numbers = itertools.count(1)
        self._steps: Counter[tuple[str, int]] = Counter()

    def __call__(self, request: Request) -> Turn:
        received = self._received(request)
        for quirk in self._quirks:
            if (refused := quirk.refuse(received)) is not None:
                return refused
        problem = objection(request.wire, request.body) if self._strict else None
        if problem is not None:
            return Refusal(400, problem)
        turn = self._model(received)
        for quirk in self._quirks:
            if isinstance(turn, Reply):
                turn = quirk.say(received, turn)
        return self._sent(received, turn) if isinstance(turn, Reply) else turn

    def _received(self, request: Request) -> ReceivedRequest:
        role = role_of(request.tools)
        step = (role, sum(message.speaker == "tool" for message in request.messages))
        again, self._steps[step] = self._steps[step], self._steps[step] + 1
        return ReceivedRequest(request, role, next(self._numbers), again)

    def _sent(self, received: ReceivedRequest, reply: Reply) -> Raw:
        request = received.request
        dialect = DIALECTS[request.wire]
        chunks = list(dialect.chunks(reply, request, received.count))
        events = [json.loads(chunk) if chunk.startswith("{") else chunk for chunk in chunks]
        sent = Sent(events, dialect.stream_type)
        for quirk in self._quirks:
            sent = quirk.send(received, sent)

        def framed(item: object) -> bytes | float:
            if isinstance(item, bytes | float | int):
                return item
            return dialect.framed(item if isinstance(item, str) else json.dumps(item))

        pieces = [framed(item) for item in sent.items]
        return Raw(pieces, sent.content_type, sent.status, sent.headers, sent.ends)


def role_of(tools: Sequence[str]) -> str:
    """The role of a request that offers these tools."""
    if {"Plan", "ParallelPlan", "Questions"} & {*tools}:
        return "planner"
    return "critic" if "Verdict" in tools else "executor"
