"""The tool `read_file`.

Like all file tools except `search`, it works on the workspace's manifest and never on a file
system. It reads no path of the host, so it needs no sandbox.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.attempt import Ports
from agents.errors import ToolRefused
from agents.links import explain_missing, locate
from agents.paths import in_workspace
from agents.ports import Workspace
from agents.texts import excerpt, lines_of, numbered
from agents.tools.call import Answer, Runtime
from agents.tools.trace import of_use


async def read_file(
    path: str,
    runtime: Runtime,
    offset: Annotated[int, Field(ge=1)] = 1,
    limit: Annotated[int | None, Field(ge=1)] = None,
) -> Answer:
    """Read a text file, or some of its lines: at most 20,000 characters.

    Args:
        offset: The first line, from 1.
    """
    ports: Ports = runtime.context
    name = in_workspace(path)
    text = await text_of(ports.workspace, path)
    if ports.repository is not None:
        text = numbered(text)
    shown = excerpt(text, offset, limit, ports.bounds.read)
    if shown is None:
        many = len(lines_of(text))
        raise ToolRefused(f"{name!r} has {many} lines; offset {offset} is after its end")
    return shown or "(an empty file)", of_use("read_file", name, ok=True)


async def text_of(workspace: Workspace, path: str) -> str:
    """The text of the file that a tool's `path` leads to. Raises ToolRefused if the file does not
    exist, or is not text."""
    content = await workspace.read(locate(workspace, path))
    if content is None:
        raise ToolRefused(explain_missing(workspace, path))
    try:
        return content.decode()
    except UnicodeDecodeError:
        size = f"{len(content)} bytes, which are not UTF-8"
        raise ToolRefused(f"{in_workspace(path)!r} is not text: {size}") from None
