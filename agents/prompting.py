"""Prompts: Jinja files in `agents/prompts/`, where a missing value is an error."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from agents.state import State

PROMPTS = Path(__file__).with_name("prompts")


def render(name: str, **values: Any) -> str:
    """The prompt in `NAME.md.j2`, filled in. Raises jinja2.UndefinedError for a missing value."""
    return _environment().get_template(f"{name}.md.j2").render(values)


def render_task(name: str, state: State, **values: Any) -> str:
    """A prompt that tells what was asked, as `task.md.j2` does, and `values` beside it."""
    job = state["job"]
    return render(
        name,
        task=job["task"],
        earlier=job["earlier"],
        files=job["files"],
        clarified=state.get("clarified", []),
        **values,
    )


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(PROMPTS),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - text for models: there is no HTML to escape
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
