"""The tools that every executor has. A new one is a file beside this and a line below."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agents.tools.edit_file import edit_file
from agents.tools.list_dir import list_dir
from agents.tools.python import python
from agents.tools.read_file import read_file
from agents.tools.search import search
from agents.tools.shell import shell
from agents.tools.verify import verify
from agents.tools.write_file import write_file

Body = Callable[..., Awaitable[Any]]
"""What a tool does: an async function, named as the tool, that takes what the model gives and
`runtime`, and answers a `call.Answer`. Its docstring is what the model is told."""

TOOLS: tuple[Body, ...] = (
    python,
    shell,
    verify,
    read_file,
    write_file,
    edit_file,
    list_dir,
    search,
)
"""In the order in which a model is offered them: the beginning of every prompt is the same."""
