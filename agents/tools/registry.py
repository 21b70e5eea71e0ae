"""The tools of every executor. To add one, write its module and add a line below."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agents.attempt import Ports
from agents.tools.edit_file import edit_file
from agents.tools.git import PROGRAM, git
from agents.tools.list_dir import list_dir
from agents.tools.python import python
from agents.tools.read_file import read_file
from agents.tools.search import search
from agents.tools.shell import shell
from agents.tools.verify import verify
from agents.tools.view_image import VIEW_IMAGE, view_image
from agents.tools.write_file import write_file

Body = Callable[..., Awaitable[Any]]
"""A tool: an async function with the tool's name that takes the model's arguments and `runtime`,
and returns a `call.Answer`. Its docstring is the description for the model."""

TOOLS: tuple[Body, ...] = (
    python,
    shell,
    verify,
    read_file,
    write_file,
    edit_file,
    list_dir,
    search,
    git,
    view_image,
)
"""In the order in which the model sees them: the beginning of every prompt is the same."""

LOOKING: frozenset[Body] = frozenset({read_file, list_dir, search, git, view_image})
"""Tools that only look at files. Their calls name no steps of the plan: each argument is part of
every request, and a look is for the step that the next program or edit names."""


def offered(name: str, ports: Ports) -> bool:
    """Whether the job's executor has the tool of this name."""
    if name == PROGRAM:
        return ports.repository is not None and PROGRAM in ports.environment.programs
    return name != VIEW_IMAGE or ports.models.sees_images("executor")
