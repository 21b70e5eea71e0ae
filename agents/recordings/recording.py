"""Recording: a job's model calls in a file that people can read and write.

    about: Written by hand. No provider was called.
    turns:
      - role: executor
        expect: |
          Sort the list.
        reply:
          tool_calls:
            - name: python
              args: {code: "print(sorted([2, 1]))"}
          usage: {input_tokens: 31, output_tokens: 9}
      - role: executor
        match: contains
        expect: "[1, 2]"
        after: 1
        reply:
          content: It is sorted.

`RecordedTurn` describes the fields. When a job differs from its recording, the error shows the
request, which can be copied into `expect`.

Fettle writes recordings too (`agents.recordings.dump`): there a turn has the whole `request` in
place of `expect`, and playing is strict. `strict: false` at the top of the file compares only the
last message, as with `expect`.

See ADR 9.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from agents.errors import ModelNotConfigured, describe_validation
from agents.ports import Role
from agents.recordings.request import RecordedRequest


class _FileModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordedUsage(_FileModel):
    """The token counts of the reply."""

    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    cached_input_tokens: int = Field(default=0, ge=0)


class RecordedCall(_FileModel):
    """One tool call of a reply."""

    name: str
    args: dict[str, JsonValue] = {}


class BrokenCall(_FileModel):
    """A tool call with arguments that were not valid JSON: their text."""

    name: str
    args: str


class RecordedReply(_FileModel):
    """The model's reply: text, tool calls or both."""

    content: str = ""
    tool_calls: tuple[RecordedCall, ...] = ()
    broken_calls: tuple[BrokenCall, ...] = ()
    finish: str | None = None
    """The provider's finish reason, if it matters: the reply was cut off, broken or empty."""
    usage: RecordedUsage | None = None

    @model_validator(mode="after")
    def _require_content(self) -> Self:
        if not (self.content or self.tool_calls or self.broken_calls or self.finish):
            raise ValueError("a reply has content, tool_calls or both")
        return self


class RecordedTurn(_FileModel):
    """One request that the recording answers, and the reply."""

    role: Role
    model: str | None = None
    """The model that answered, as `provider:model`."""
    expect: str | None = None
    """The text of the request's last message, compared without trailing whitespace."""
    match: Literal["exact", "contains"] = "exact"
    """Whether `expect` is the full text of the message, or a part of it."""
    after: int | None = Field(default=None, ge=0)
    """The number of the model's own messages in the request; None: the turn matches anywhere."""
    request: RecordedRequest | None = None
    """The full request, in place of `expect`."""
    reply: RecordedReply

    @model_validator(mode="after")
    def _require_question(self) -> Self:
        if (self.expect is None) == (self.request is None):
            raise ValueError("a turn has either expect or request")
        return self

    @property
    def question(self) -> str:
        """The expected text of the last message."""
        return self.request.texts[-1][1] if self.request else self.expect or ""

    def answers(self, text: str) -> bool:
        """Whether this turn answers the text, anywhere in the conversation."""
        expected, actual = stripped(self.question), stripped(text)
        return expected == actual if self.match == "exact" else expected in actual


class Recording(_FileModel):
    """A file with recorded turns."""

    name: str
    """The name of the file without `.yaml`."""
    about: str
    """The author of the file, and whether a provider was called."""
    strict: bool = True
    """Whether a turn with a `request` answers that request only."""
    turns: tuple[RecordedTurn, ...]

    @cached_property
    def holds_requests(self) -> bool:
        """Whether full requests are compared."""
        return self.strict and any(turn.request is not None for turn in self.turns)


def stripped(text: str) -> str:
    """The text without trailing whitespace."""
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip()


def load(directory: Path, name: str) -> Recording:
    """Read `NAME.yaml`. `name` comes from `ModelName.parse`, so it is not a path.

    Raises ModelNotConfigured if there is no such recording or it is invalid.
    """
    path = directory / f"{name}.yaml"
    names = sorted(file.stem for file in directory.glob("*.yaml"))
    if name not in names:
        there_are = f"there are {', '.join(names)}" if names else "there are none"
        raise ModelNotConfigured(f"no recording {name!r} in {directory}; {there_are}")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = path.read_text("utf-8")
        written = yaml.load(text, Loader=loader)  # noqa: S506 - both are safe
        _check_size(written, most=len(text) + 1)
        return Recording.model_validate({**(written or {}), "name": name})
    except ValidationError as error:
        raise ModelNotConfigured(f"{path} is no recording: {describe_validation(error)}") from error
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise ModelNotConfigured(f"{path} is no recording: {error}") from error


def _check_size(written: object, most: int) -> None:
    """Raise ValueError if a value has more nodes than its text has characters. Only aliases that
    refer to each other can cause this: with them, a short text can become arbitrarily large."""
    nodes_left, values = most, [written]
    while values:
        value = values.pop()
        nodes_left -= 1
        if nodes_left < 0:
            raise ValueError("its aliases repeat too much")
        if isinstance(value, dict):
            values += value.values()
        elif isinstance(value, list):
            values += value
