"""Prompts: Jinja files in `agents/prompts/`, where a missing value is an error.

A template marks what a model can do without: `{{ text | trimmable }}`, or a block of
`{% filter trimmable %}`. A marked part is cut where a model's context is too small
(`agents.context`). The rest is never cut: the task, the answers about it, the template's own text.
A mark changes no character of the prompt.

Why: docs/decisions/0025-prompts-say-what-may-go.md
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment as Templates
from jinja2 import FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agents.graph.state import State
from agents.models.replies.fields import with_fields_of
from agents.paths import visible
from agents.ports.environment import Environment
from agents.ports.repository import RepositoryFacts

PROMPTS = Path(__file__).parent
_MARK = "_mark"
_BACKTICKS = re.compile(r"`+")
_TRIMMABLE: Final = "spare"
"""Where a message has its trimmable parts, [[start, end], ...]. No provider's client sends them."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text for a model, and its trimmable parts as (start, end) in characters, in order."""

    text: str
    trimmable: tuple[tuple[int, int], ...] = ()

    def then(self, other: Prompt) -> Prompt:
        """Both, the other one on a line of its own."""
        offset = len(self.text) + 1
        moved = ((offset + start, offset + end) for start, end in other.trimmable)
        return Prompt(f"{self.text}\n{other.text}", (*self.trimmable, *moved))

    def message(self) -> HumanMessage:
        """As a model is sent it."""
        return HumanMessage(self.text, additional_kwargs=_kwargs(self.trimmable))


def render(name: str, **values: Any) -> str:
    """The prompt in `NAME.md.j2`, filled in. Raises jinja2.UndefinedError for a missing value."""
    return prompt(name, **values).text


def prompt(name: str, **values: Any) -> Prompt:
    """The same, with its trimmable parts."""
    mark = secrets.token_hex(16)  # occurs in no value
    template = _templates().get_template(f"{name}.md.j2")
    pieces = template.render({**values, _MARK: mark}).split(mark)
    length, trimmable = 0, []
    for number, piece in enumerate(pieces):
        if number % 2:
            trimmable.append((length, length + len(piece)))
        length += len(piece)
    return Prompt("".join(pieces), tuple(trimmable))


def described(environment: Environment) -> str:
    """What a sandbox has, in one phrase for a prompt."""
    return render("environment", environment=environment).strip()


def task_prompt(
    name: str, state: State, repository: RepositoryFacts | None, **values: Any
) -> Prompt:
    """A prompt that repeats the task, as `task.md.j2` does, with `values` beside it."""
    job = state["job"]
    contents = job.get("contents", {})
    return prompt(
        name,
        task=job["task"],
        earlier=job["earlier"],
        files=job.get("inputs") or ([] if contents else job["files"]),
        contents=contents,
        clarified=state.get("clarified", []),
        repository=repository,
        repository_map=job.get("repository_map", ""),
        rebased=job.get("rebased"),
        **values,
    )


def past_reply(text: str, reply: AIMessage) -> AIMessage:
    """A reply that is only there to be looked back at: `text` in place of its content and calls.
    All of it is trimmable."""
    past = AIMessage(text, additional_kwargs=_kwargs([(0, len(text))]))
    return with_fields_of(reply, past)


def trimmable_parts(message: BaseMessage) -> list[tuple[int, int]]:
    """The trimmable parts of a message; none where it has no marks."""
    marks = message.additional_kwargs.get(_TRIMMABLE, ())
    return [(start, end) for start, end, *_ in marks]  # older jobs saved a rank as well


def without_marks(message: BaseMessage) -> dict[str, Any]:
    """The message's `additional_kwargs` without the marks, which are wrong for another text."""
    return {key: value for key, value in message.additional_kwargs.items() if key != _TRIMMABLE}


def _kwargs(trimmable: Sequence[tuple[int, int]]) -> dict[str, object]:
    return {_TRIMMABLE: [list(part) for part in trimmable]} if trimmable else {}


@pass_context
def _trimmable(context: Context, text: str) -> str:
    return f"{context[_MARK]}{text}{context[_MARK]}"


def _fenced(text: str) -> str:
    """The text in a fence that is longer than each run of backticks in it."""
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}\n{text}{end}{fence}"


@cache
def _templates() -> Templates:
    templates = Templates(
        loader=FileSystemLoader(PROMPTS),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - text for models: there is no HTML to escape
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters["trimmable"] = _trimmable
    templates.filters["fenced"] = _fenced
    templates.filters["visible"] = visible
    return templates
