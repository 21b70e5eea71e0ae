"""Prompts: Jinja files in `agents/prompts/`. A missing value is an error.

A template marks parts that a model can do without: `{{ text | trimmable }}`, or a block of
`{% filter trimmable %}`. A marked part is cut if a model's context is too small
(`agents.context`). The rest is never cut: the task, the answers about it, the template's own text.
A mark changes no character of the prompt. A part may have a rank (`{{ part | ranked }}`): if a
request exceeds its budget, the parts with the highest numbers are left out first.

See ADR 25.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from jinja2 import Environment as Templates
from jinja2 import FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agents.models.replies.fields import with_fields_of
from agents.paths import visible
from agents.ports.environment import SandboxEnvironment
from agents.ports.repository import RepositoryFacts
from agents.state import State

M = TypeVar("M", bound=BaseMessage)

PROMPTS = Path(__file__).parent
_MARK = "_mark"
_BACKTICKS = re.compile(r"`+")
_RANKED = "_ranked"
_TRIMMABLE: Final = "spare"
"""Where a message has its trimmable parts, [[start, end], ...]. No provider's client sends them.
A part with a rank is [start, end, rank, stand_in, whole]."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A text of a prompt that may be left out to keep the request within its budget."""

    text: str
    rank: int
    """Parts with lower numbers are kept first."""
    stand_in: str
    """Replaces the text if it is left out: its name and its size."""
    in_full: bool = False
    """The text is shown in full or not at all, unless it alone is longer than the budget. Other
    texts are cut in the middle."""


@dataclass(frozen=True, slots=True)
class Part:
    """A trimmable part of a message, from `start` to `end` in characters. `ranked` is None if the
    part has no rank."""

    start: int
    end: int
    ranked: Ranked | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text for a model, and its trimmable parts in order."""

    text: str
    parts: tuple[Part, ...] = ()

    def then(self, second: Prompt) -> Prompt:
        """Both prompts; the second one begins on a new line."""
        offset = len(self.text) + 1
        moved = (Part(offset + part.start, offset + part.end, part.ranked) for part in second.parts)
        return Prompt(f"{self.text}\n{second.text}", (*self.parts, *moved))

    def message(self) -> HumanMessage:
        """The message that is sent to a model."""
        return HumanMessage(self.text, additional_kwargs=_kwargs(self.parts))


def render(name: str, **values: Any) -> str:
    """The prompt in `NAME.md.j2`, filled in. Raises jinja2.UndefinedError for a missing value."""
    return prompt(name, **values).text


def prompt(name: str, **values: Any) -> Prompt:
    """The prompt in `NAME.md.j2` with its trimmable parts. Raises as `render` does."""
    mark = secrets.token_hex(16)  # occurs in no value
    template = _templates().get_template(f"{name}.md.j2")
    ranked: list[Ranked | None] = []
    pieces = template.render({**values, _MARK: mark, _RANKED: ranked}).split(mark)
    length, parts = 0, []
    for number, piece in enumerate(pieces):
        if number % 2:
            parts.append(Part(length, length + len(piece), ranked[number // 2]))
        length += len(piece)
    return Prompt("".join(pieces), tuple(parts))


def described(environment: SandboxEnvironment) -> str:
    """What a sandbox has, in one phrase for a prompt."""
    return render("environment", environment=environment).strip()


def task_prompt(
    name: str,
    state: State,
    repository: RepositoryFacts | None,
    *,
    joined: bool = False,
    **values: Any,
) -> Prompt:
    """A prompt that includes `task.md.j2`, with additional `values`. `joined`: the files in the
    job's fields are the result of parallel steps."""
    job = state["job"]
    contents = job.get("contents", {})
    return prompt(
        name,
        task=job["task"],
        steps=job["steps"],
        earlier=job["earlier"],
        files=job.get("inputs") or ([] if contents else job["files"]),
        contents=contents,
        joined=joined,
        clarified=state.get("clarified", []),
        repository=repository,
        repository_map=job.get("repository_map", ""),
        rebased=job.get("rebased"),
        **values,
    )


def past_reply(text: str, reply: AIMessage) -> AIMessage:
    """An earlier reply that a model reads and that needs no answers to its calls: `text` replaces
    its content and its calls. The complete text is trimmable."""
    past = AIMessage(text, additional_kwargs=_kwargs([Part(0, len(text))]))
    return with_fields_of(reply, past)


def trimmable_parts(message: BaseMessage) -> list[Part]:
    """The trimmable parts of a message; none if it has no marks."""
    text, parts = message.content, []
    for start, end, *more in message.additional_kwargs.get(_TRIMMABLE, ()):
        ranked = Ranked(str(text)[start:end], *more) if len(more) > 1 else None
        parts.append(Part(start, end, ranked))  # older jobs saved one number more
    return parts


def with_parts(message: M, text: str, parts: Sequence[Part] = ()) -> M:
    """The message with another text, with its trimmable `parts`."""
    other_fields = {
        key: value for key, value in message.additional_kwargs.items() if key != _TRIMMABLE
    }
    changed = {"content": text, "additional_kwargs": {**other_fields, **_kwargs(parts)}}
    return message.model_copy(update=changed)


def _kwargs(parts: Sequence[Part]) -> dict[str, object]:
    return {_TRIMMABLE: [_plain(part) for part in parts]} if parts else {}


def _plain(part: Part) -> list[object]:
    if (ranked := part.ranked) is None:
        return [part.start, part.end]
    return [part.start, part.end, ranked.rank, ranked.stand_in, ranked.in_full]


@pass_context
def _trimmable(context: Context, text: str) -> str:
    context[_RANKED].append(None)
    return f"{context[_MARK]}{text}{context[_MARK]}"


def fenced(text: str) -> str:
    """The text in a fence that is longer than each run of backticks in it."""
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}\n{text}{end}{fence}"


@pass_context
def _ranked(context: Context, part: Ranked) -> str:
    context[_RANKED].append(part)
    return f"{context[_MARK]}{part.text}{context[_MARK]}"


@cache
def _templates() -> Templates:
    templates = Templates(
        loader=FileSystemLoader(PROMPTS),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - prompts are not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters["trimmable"] = _trimmable
    templates.filters["fenced"] = fenced
    templates.filters["visible"] = visible
    templates.filters["ranked"] = _ranked
    return templates
