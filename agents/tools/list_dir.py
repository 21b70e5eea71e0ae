"""The tool `list_dir`. It needs no sandbox, like `read_file`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.errors import ToolRefused
from agents.paths import listing, outline
from agents.ports import Ports
from agents.tools.call import Answer, Runtime
from agents.tools.trace import of_use

SHOWN = 400
"""Names in one answer."""


async def list_dir(
    runtime: Runtime, path: str = ".", depth: Annotated[int, Field(ge=1, le=32)] = 1
) -> Answer:
    """List the files and directories in a directory.

    Args:
        depth: How many levels to list.
    """
    ports: Ports = runtime.context
    files = ports.workspace.list()
    if ports.repository is None:
        names = listing(files, path, depth)
    else:
        names = outline(files, path, depth, SHOWN)
    if names is None:
        raise ToolRefused(f"there is no directory {path!r}")
    shown = names[:SHOWN]
    if len(names) > SHOWN:
        shown.append(
            f"[{len(names) - SHOWN} more: list one of these directories, or use a smaller depth]"
        )
    return "\n".join(shown) or "(empty)", of_use("list_dir", path, ok=True)
