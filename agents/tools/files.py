"""The tools `read_file`, `write_file` and `list_dir`.

They go through the workspace's manifest, never through a file system, so there is no link to
follow and no path of the host to reach.
"""

from __future__ import annotations

from typing import Any

from langgraph.prebuilt import ToolRuntime

from agents.errors import PathOutside
from agents.paths import checked, in_workspace, listing, objection
from agents.ports import Ports
from agents.texts import head_and_tail
from agents.tools.trace import Trace, of_use

Runtime = ToolRuntime[Any, Any]
"""Its context is Ports; said so here, pydantic would try to build a schema of them."""


async def read_file(path: str, runtime: Runtime) -> tuple[str, Trace]:
    """Read a text file.

    Args:
        path: The file's path, relative to the working directory.
    """
    ports: Ports = runtime.context
    name = in_workspace(path)
    try:
        content = await ports.workspace.read(name)
    except PathOutside as error:
        return _refused("read_file", path, str(error))
    if content is None:
        return _refused("read_file", path, f"there is no file {name!r}; list_dir shows what is")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return _refused("read_file", path, f"{name!r} is no text: {len(content)} bytes")
    shown = head_and_tail(text, ports.bounds.read)
    return shown or "(an empty file)", of_use("read_file", name, ok=True)


async def write_file(path: str, content: str, runtime: Runtime) -> tuple[str, Trace]:
    """Write a text file, whole; what was in it is replaced.

    Args:
        path: The file's path, relative to the working directory.
        content: The file's whole content.
    """
    ports: Ports = runtime.context
    data = content.encode(errors="replace")
    try:
        name = checked(in_workspace(path))
    except PathOutside as error:
        return _refused("write_file", path, str(error))
    if why := objection(ports.workspace.list(), name, len(data), ports.limits):
        return _refused("write_file", path, why)
    made = await ports.workspace.apply({name: data})
    text = f"wrote {name} ({len(data)} bytes)"
    return text, of_use("write_file", name, ok=True, made=made)


async def list_dir(runtime: Runtime, path: str = ".") -> tuple[str, Trace]:
    """List the names in a directory; those that end with / are directories.

    Args:
        path: The directory's path, relative to the working directory, which is the default.
    """
    ports: Ports = runtime.context
    try:
        names = listing(ports.workspace.list(), path)
    except PathOutside as error:
        return _refused("list_dir", path, str(error))
    if names is None:
        return _refused("list_dir", path, f"there is no directory {path!r}")
    return "\n".join(names) or "(empty)", of_use("list_dir", path, ok=True)


def _refused(tool: str, path: str, why: str) -> tuple[str, Trace]:
    return f"error: {why}", of_use(tool, path, ok=False, note=why)
