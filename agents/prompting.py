"""Prompts: Jinja files in `agents/prompts/`, where a missing value is an error."""

from __future__ import annotations

import secrets
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from agents.spare import Prompt, marked, read
from agents.state import State

PROMPTS = Path(__file__).with_name("prompts")
_MARK = "_mark"


def render(name: str, **values: Any) -> str:
    """The prompt in `NAME.md.j2`, filled in. Raises jinja2.UndefinedError for a missing value."""
    return prompt(name, **values).text


def prompt(name: str, **values: Any) -> Prompt:
    """The same, with what is spare in it."""
    mark = secrets.token_hex(16)
    template = _environment().get_template(f"{name}.md.j2")
    return read(template.render({**values, _MARK: mark}), mark)


def task_prompt(name: str, state: State, **values: Any) -> Prompt:
    """A prompt that tells what was asked, as `task.md.j2` does, and `values` beside it."""
    job = state["job"]
    return prompt(
        name,
        task=job["task"],
        earlier=job["earlier"],
        files=job["files"],
        clarified=state.get("clarified", []),
        **values,
    )


@pass_context
def _spare(context: Context, text: str, rank: str) -> str:
    return marked(text, rank, context[_MARK])


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(PROMPTS),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - text for models: there is no HTML to escape
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["spare"] = _spare
    return environment
