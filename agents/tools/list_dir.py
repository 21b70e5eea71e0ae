"""The tool `list_dir`. It needs no sandbox, like `read_file`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.attempt import Ports
from agents.errors import ToolRefused
from agents.links import locate, submodule_of
from agents.paths import ROOT, in_workspace, listing, outline, visible
from agents.ports import Workspace
from agents.tools.call import Answer, Runtime
from agents.tools.trace import of_use

SHOWN = 400
"""Names in one answer."""


async def list_dir(
    runtime: Runtime, path: str = ".", depth: Annotated[int, Field(ge=1, le=32)] = 1
) -> Answer:
    """List the files and directories in a directory, to a depth."""
    ports: Ports = runtime.context
    workspace = ports.workspace
    at = locate(workspace, path) if in_workspace(path) not in {"", ".", ROOT} else "."
    marks = {link: f" -> {target}" for link, target in workspace.links().items()}
    marks |= dict.fromkeys(workspace.submodules(), " (a submodule, without its files)")
    entries = {**workspace.list(), **dict.fromkeys(marks, 0)}
    if ports.repository is None:
        names = listing(entries, at or ".", depth)
    else:
        names = outline(entries, at or ".", depth, SHOWN)
    if names is None:
        raise ToolRefused(_why_none(workspace, path, at))
    prefix = f"{at}/" if at not in {"", "."} else ""
    lines = [visible(name + marks.get(prefix + name, "")) for name in names[:SHOWN]]
    if len(names) > SHOWN:
        lines.append(
            f"[{len(names) - SHOWN} more: list one of these directories, or use a smaller depth]"
        )
    return "\n".join(lines) or "(empty)", of_use("list_dir", path, ok=True)


def _why_none(workspace: Workspace, path: str, at: str) -> str:
    if submodule := submodule_of(workspace, at):
        return f"{submodule!r} is a submodule, another repository, whose files are not here"
    return f"there is no directory {path!r}"
