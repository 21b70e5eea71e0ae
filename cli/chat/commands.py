"""The lines of a chat: a task, or a command that begins with `/` (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation

import click

COMMANDS: Mapping[str, tuple[str, str]] = {
    "approve": ("[REMARK]", "approve the work of the open review"),
    "revise": ("TEXT", "send the work back with a request for changes"),
    "decide": ("", "decide in another way: edit, reject, delegate, answer, comment on lines"),
    "files": ("", "list the files of the last job"),
    "diff": ("", "show the changes of the last job"),
    "apply": ("", "apply them here: the patch to your repository, else the files to this folder"),
    "model": ("[NAME]", "show or choose the model of the next jobs; `default` is the service's"),
    "budget": ("[USD]", "show or limit the cost of each next job; `default` is the service's"),
    "jobs": ("", "list the jobs of this conversation"),
    "help": ("", "show this list"),
    "quit": ("", "leave the chat; a running job goes on"),
}
"""The argument and the effect of each command."""
DEFAULT = "default"


def parse(line: str) -> tuple[str, str]:
    """The command of a typed line, and its argument. Without a command, the text is a task or a
    message. Raises click.UsageError for an unknown command and for a wrong argument."""
    if not line.startswith("/"):  # a task that begins with a slash has a space before it
        return "", line.strip()
    name, _, text = line[1:].partition(" ")
    text = text.strip()
    if name not in COMMANDS:
        remedy = "/help lists the commands; a task that begins with / has a space before it"
        raise click.UsageError(f"there is no command /{name}: {remedy}")
    if text and not COMMANDS[name][0]:
        raise click.UsageError(f"/{name} takes no argument")
    return name, text


def parse_budget(text: str) -> str:
    """The dollars that a person typed, as in `0.50`; `default` and an empty text are not changed.
    Raises click.UsageError."""
    if text in ("", DEFAULT):
        return text
    try:
        dollars = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        dollars = Decimal(0)
    if not dollars.is_finite() or dollars <= 0:
        raise click.UsageError(f"{text!r} is no amount of dollars; write 0.50")
    return f"{dollars:f}"


def complete(line: str, models: Iterable[str]) -> list[str]:
    """The texts that may replace the last word of the line: commands, or after /model the names of
    models."""
    if line.startswith("/model "):
        word = line.removeprefix("/model ").lstrip()
        return [name for name in (*models, DEFAULT) if name.startswith(word)]
    is_command = line.startswith("/") and " " not in line
    return [f"/{name}" for name in COMMANDS if is_command and f"/{name}".startswith(line)]
