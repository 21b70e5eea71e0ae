"""RecordedModel: a model that plays a recording. No provider is called."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.messages.tool import ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

from agents.ports import Role
from agents.ports.spending import RequestGuard, Usage
from agents.recordings import mismatch
from agents.recordings.recording import RecordedReply, RecordedTurn, RecordedUsage, Recording
from agents.recordings.request import own_messages, request_of
from agents.redaction import Redaction

_SHOWS_IMAGES = "view_image"
"""The tool that is offered to models that take images."""


class RecordedModel(BaseChatModel):
    """Answers one role's requests from a recording.

    It has no cursor: only the request selects the turn, so that a worker that takes a job over
    after a crash gets the same answers. A turn with its position (`after`) comes before one
    without, an exact one before one that `contains`. A turn with a whole request answers no other,
    unless the recording is not strict.

    Raises RecordingMismatch if no turn matches, if several match equally well, or if the reply
    calls a tool that the request does not offer.
    """

    recording: Recording
    role: Role
    redaction: Redaction = Redaction()
    guard: RequestGuard | None = None
    """Allows each request before it is answered; None: no limit."""

    def for_call(
        self,
        *,
        guard: RequestGuard | None = None,
        listener: object = None,  # noqa: ARG002 - a recorded reply comes at once
    ) -> RecordedModel:
        """This model for one call, with the call's guard."""
        return self.model_copy(update={"guard": guard})

    @property
    def sees_images(self) -> bool:
        """Whether the recorded model took images: it was offered the tool that shows them."""
        turns = (turn for turn in self.recording.turns if turn.role == self.role)
        return any(turn.request and _SHOWS_IMAGES in turn.request.tools for turn in turns)

    @override
    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offers tools; a forced choice has no effect on a recording."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        offered = [tool["function"]["name"] for tool in kwargs.get("tools", ())]
        number, turn = self._turn(messages, offered)
        for call in turn.reply.tool_calls:
            if call.name not in offered:
                raise mismatch.not_offered(self.recording, number, call.name, offered)
        message = _message(turn.reply, _digest(self.role, messages))
        message.response_metadata = {
            "model_provider": "recording",
            "model_name": self.recording.name,
            "turn": number,
            "finish_reason": turn.reply.finish or ("tool_calls" if message.tool_calls else "stop"),
        }
        return ChatResult(generations=[ChatGeneration(message=message)])

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        played = self._generate(messages, stop, None, **kwargs)
        message = played.generations[0].message
        used = Usage.of(message) if isinstance(message, AIMessage) else None
        if self.guard is not None:
            await self.guard.before(lambda _: used or Usage(0, 0), 0)
        return played

    def _turn(self, messages: list[BaseMessage], tools: list[str]) -> tuple[int, RecordedTurn]:
        """The turn to play, with its number in the file, from 1."""
        text = str(messages[-1].text)
        after = own_messages(messages)
        strict = self.recording.holds_requests  # to record a request costs more than to play one
        recorded_request = request_of(messages, tools, self.redaction) if strict else None

        def fits(turn: RecordedTurn) -> bool:
            if turn.request is not None and strict:
                return turn.request == recorded_request
            return turn.after in {None, after} and turn.answers(text)

        fitting = [
            (number, turn)
            for number, turn in enumerate(self.recording.turns, 1)
            if turn.role == self.role and fits(turn)
        ]
        if not fitting:
            recorded_request = recorded_request or request_of(messages, tools, self.redaction)
            raise mismatch.no_matching_turn(self.recording, self.role, recorded_request, after)
        best = min(_looseness(turn) for _, turn in fitting)
        first, *other_turns = [
            candidate for candidate in fitting if _looseness(candidate[1]) == best
        ]
        if any(turn.reply != first[1].reply for _, turn in other_turns):
            numbers = [first[0], *(number for number, _ in other_turns)]
            raise mismatch.ambiguous(self.recording, self.role, numbers)
        return first

    @property
    def _llm_type(self) -> str:
        return "fettle-recording"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": f"recording:{self.recording.name}", "role": self.role}


def _looseness(turn: RecordedTurn) -> tuple[bool, bool]:
    return turn.match != "exact", turn.after is None


def _message(reply: RecordedReply, digest: str) -> AIMessage:
    calls = [
        ToolCall(name=call.name, args=call.args, id=f"call_{digest}_{i}", type="tool_call")
        for i, call in enumerate(reply.tool_calls)
    ]
    broken = [
        InvalidToolCall(
            name=call.name,
            args=call.args,
            id=f"broken_{digest}_{i}",
            error=None,
            type="invalid_tool_call",
        )
        for i, call in enumerate(reply.broken_calls)
    ]
    usage = _usage(reply.usage) if reply.usage else None
    return AIMessage(
        content=reply.content, tool_calls=calls, invalid_tool_calls=broken, usage_metadata=usage
    )


def _usage(usage: RecordedUsage) -> UsageMetadata:
    return UsageMetadata(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.input_tokens + usage.output_tokens,
        input_token_details=InputTokenDetails(cache_read=usage.cached_input_tokens),
    )


def _digest(role: Role, messages: list[BaseMessage]) -> str:
    """Identifies the request: the same one gets the same call ids in every process."""
    texts = [[message.type, str(message.text)] for message in messages]
    return hashlib.sha256(json.dumps([role, texts]).encode()).hexdigest()[:12]
