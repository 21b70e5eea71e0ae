"""The tool `read_file`.

Like all file tools but `search` it goes through the workspace's manifest, never through a file
system: there is no link to follow and no path of the host to reach, so it needs no room.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.errors import ToolRefused
from agents.paths import in_workspace
from agents.ports import Ports, Workspace
from agents.texts import excerpt, lines_of
from agents.tools.call import Answer, Runtime
from agents.tools.trace import trace_of_call


async def read_file(
    path: str,
    runtime: Runtime,
    offset: Annotated[int, Field(ge=1)] = 1,
    limit: Annotated[int | None, Field(ge=1)] = None,
) -> Answer:
    """Read a text file, or some of its lines.

    A long file is shown in part, with a note of how many lines there are and where to go on.

    Args:
        path: The file's path, relative to the working directory.
        offset: The first line to read, from 1.
        limit: How many lines to read; all by default, as far as they can be shown.
    """
    ports: Ports = runtime.context
    name = in_workspace(path)
    text = await text_of(ports.workspace, name)
    shown = excerpt(text, offset, limit, ports.bounds.read)
    if shown is None:
        many = len(lines_of(text))
        raise ToolRefused(f"{name!r} has {many} lines; offset {offset} is behind its end")
    return shown or "(an empty file)", trace_of_call("read_file", name, ok=True)


async def text_of(workspace: Workspace, name: str) -> str:
    """The text of a file. Raises ToolRefused where there is none, or no text in it."""
    content = await workspace.read(name)
    if content is None:
        raise ToolRefused(f"there is no file {name!r}; list_dir shows what is")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ToolRefused(f"{name!r} is no text: {len(content)} bytes") from None
