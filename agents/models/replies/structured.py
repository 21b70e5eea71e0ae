"""Asks a model for a structured value.

The value's schema is a tool that the model has to call. It is the first tool of the request, and
mostly the only tool. This works alike on Groq (few of its models have a JSON-schema mode), on
Gemini (its JSON mode excludes tools) and in a recording.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ValidationError

from agents.errors import ReplyUnusable, describe_validation
from agents.models.replies.arguments import as_meant, compact
from agents.models.replies.ending import cut_off, malformed

T = TypeVar("T", bound=BaseModel)

ANY_TOOL = "any"
"""The model has to call a tool that is offered. More servers accept this than a tool's name.
LangChain writes it as each protocol does: `required` for OpenAI's."""
ToolSchema = dict[str, Any]
"""A tool as requests have it, in OpenAI's form."""
_FENCED = re.compile(r"```(?:json)?[^\S\n]*\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A value, or the error of a reply without a valid value."""

    value: T | None
    error: str | None
    """The fault of the reply, as text for the model."""
    message: AIMessage
    """The unchanged reply, for usage and journal."""

    @property
    def reply_text(self) -> str:
        """The reply's text and calls, as plain text that every provider accepts in a request."""
        calls = [call["args"] for call in self.message.tool_calls]
        broken = [call["args"] or "" for call in self.message.invalid_tool_calls]
        parts = [str(self.message.text), *map(json.dumps, calls), *broken]
        return "\n".join(part for part in parts if part)


async def ask(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    schema: type[T],
    tools: Sequence[ToolSchema] = (),
) -> Answer[T]:
    """One call of `model`; a reply that does not match `schema` is an Answer with an `error`.
    `tools` are offered, too.

    Raises ModelUnavailable, ModelRefused, ReplyUnusable, RecordingMismatch.
    """
    bound = model.bind_tools([tool_schema(schema), *tools], tool_choice=ANY_TOOL)
    try:
        message = await bound.ainvoke(list(messages))
    except ReplyUnusable as error:
        if error.reply is not None:
            raise
        withheld = read(AIMessage(error.text), schema)  # Groq withholds replies that are plain JSON
        if withheld.value is None:
            raise
        return withheld
    return read(message, schema)


def read(message: AIMessage, schema: type[T]) -> Answer[T]:
    """The value in a new or journaled reply: the tool's call, else JSON in its text."""
    name = schema.__name__
    for call in message.tool_calls:
        if call["name"] == name:
            return _validated(message, schema, call["args"])
    if cut_off(message):
        return Answer(None, "the reply was cut off at the limit on its length: be brief", message)
    if malformed(message):
        return Answer(None, f"the arguments of {name} are not valid JSON", message)
    text = str(message.text).strip()
    fenced = _FENCED.search(text)
    written = fenced[1].strip() if fenced else text
    if written.startswith("{"):
        try:
            value = json.loads(written, strict=False)
        except (ValueError, RecursionError) as error:
            return Answer(None, f"Invalid JSON: {error}", message)
        return _validated(message, schema, value)
    return Answer(None, f"the reply does not call {name}", message)


@cache
def tool_schema(schema: type[BaseModel]) -> ToolSchema:
    """The tool with the fields of a pydantic model as arguments. Cached, because it takes a
    millisecond."""
    tool: ToolSchema = compact(convert_to_openai_tool(schema))
    return tool


def _validated(message: AIMessage, schema: type[T], value: dict[str, Any]) -> Answer[T]:
    parameters = tool_schema(schema)["function"]["parameters"]
    try:
        return Answer(schema.model_validate(as_meant(value, parameters)), None, message)
    except ValidationError as error:
        return Answer(None, describe_validation(error), message)
