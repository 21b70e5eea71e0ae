"""Writes a finished model call as one turn of a recording, in YAML that people can read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import yaml
from langchain_core.messages import AIMessage, BaseMessage

from agents.ports import Role
from agents.ports.spending import Usage
from agents.recordings.recording import (
    BrokenCall,
    RecordedCall,
    RecordedReply,
    RecordedTurn,
    RecordedUsage,
)
from agents.recordings.request import own_messages, request_of
from agents.redaction import Redaction

_WIDTH = 100
_ODD = re.compile("[^\\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
"""Characters that YAML's plain and block styles would lose, or take for an end of a line."""


def record_turn(
    role: Role,
    model: str,
    messages: Sequence[BaseMessage],
    tools: Sequence[str],
    reply: AIMessage,
    finish: str | None,
    redaction: Redaction,
) -> RecordedTurn:
    """One call as a turn, without secrets. `messages` are all messages of the request. `finish` is
    the provider's finish reason, if it matters (`RecordedReply`)."""
    return RecordedTurn(
        role=role,
        model=model,
        after=own_messages(messages),
        request=request_of(messages, tools, redaction),
        reply=_reply(reply, finish, redaction),
    )


def dump_turn(turn: RecordedTurn) -> str:
    """The turn as an item of the list `turns`. The same turn gives the same text."""
    plain = turn.model_dump(mode="json", exclude_defaults=True)
    return yaml.dump([plain], Dumper=_Readable, sort_keys=False, allow_unicode=True, width=_WIDTH)


def _reply(message: AIMessage, finish: str | None, redaction: Redaction) -> RecordedReply:
    usage = Usage.of(message)
    return RecordedReply(
        content=redaction.text(str(message.text)),
        tool_calls=tuple(
            RecordedCall(name=call["name"], args=redaction.value(call["args"]))
            for call in message.tool_calls
        ),
        broken_calls=tuple(
            BrokenCall(name=call["name"] or "", args=redaction.text(call["args"] or ""))
            for call in message.invalid_tool_calls
        ),
        finish=finish,
        usage=usage
        and RecordedUsage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_input_tokens=usage.cached_input_tokens,
        ),
    )


class _Readable(yaml.SafeDumper):
    """Writes multi-line texts as blocks, so that a prompt looks as the model read it."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - equal values are written twice
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    block = "|" if "\n" in text.rstrip("\n") else None
    style = '"' if _ODD.search(text) else block
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Readable.add_representer(str, _text)
