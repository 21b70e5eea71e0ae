"""The tools `read_file`, `write_file`, `list_dir` and `view_image`.

They work on the workspace's manifest and never on a file system. They read no path of the host, so
they need no sandbox. An image follows the answer of `view_image` in each request of the pass
(`agents.executor.model_calls`).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.attempt import Ports
from agents.errors import ToolRefused
from agents.failures.workspace_change import UnifiedDiff, change
from agents.history import this_pass, traces
from agents.line_ends import BOM, adapt_appended, keep_line_ends
from agents.links import (
    explain_missing,
    locate,
    locate_to_write,
    missing_submodule_of,
    missing_submodules,
)
from agents.paths import ROOT, in_workspace, listing, outline, visible
from agents.ports import Workspace
from agents.prompts.images import why_not_shown
from agents.texts import excerpt, lines_of, numbered
from agents.tools.call import Answer, Runtime
from agents.tools.trace import of_use

VIEW_IMAGE = "view_image"
MOST_NAMES = 400
"""Names in one answer of `list_dir`."""
MOST_IMAGES = 8
"""Images in one pass: every later request of the pass has them again."""


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
    lines = excerpt(text, offset, limit, ports.bounds.read)
    if lines is None:
        count = len(lines_of(text))
        raise ToolRefused(f"{name!r} has {count} lines; offset {offset} is after its end")
    return lines or "(an empty file)", of_use("read_file", name, ok=True)


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


async def write_file(path: str, content: str, runtime: Runtime, append: bool = False) -> Answer:
    """Write a new text file, or replace a whole one, which keeps its line ends.

    Args:
        append: Add the content to the end of the file instead.
    """
    ports: Ports = runtime.context
    name = locate_to_write(ports.workspace, path)
    before = await ports.workspace.read(name)
    data = _append(name, before or b"", content) if append else _replace(before or b"", content)
    if reason := ports.write_objection({name: len(data)}):
        raise ToolRefused(reason)
    artifacts = await ports.workspace.apply({name: data})
    changed = change({name: before}, {name: data}) if before is not None else None
    if append and before is not None:
        text = f"added to {visible(name)}: it has {len(data)} bytes now"
    else:
        text = f"wrote {visible(name)} ({len(data)} bytes){_describe_change(changed)}"
    diff = changed.diff if changed else ""
    return text, of_use("write_file", name, ok=True, artifacts=artifacts, diff=diff)


def _replace(before: bytes, content: str) -> bytes:
    """The new bytes of a file, with the line ends and the byte order mark of the old bytes."""
    old = before.decode(errors="surrogateescape")
    mark = BOM if old.startswith(BOM) and not content.startswith(BOM) else ""
    return (mark + keep_line_ends(content, old)).encode(errors="replace")


def _append(name: str, before: bytes, content: str) -> bytes:
    try:
        text = adapt_appended(content, before.decode())
    except UnicodeDecodeError:
        raise ToolRefused(
            f"{name!r} is not UTF-8 text, but `content` is: add to the file with a program"
        ) from None
    return before + text.encode(errors="replace")


def _describe_change(changed: UnifiedDiff | None) -> str:
    """The number of changed lines of a file that existed before."""
    if changed is None or not changed.diff:
        return ""
    lines = f"{changed.added} lines added, {changed.removed} removed"
    return f"; it replaced an existing file: {lines}; to change a part use edit_file"


async def list_dir(
    runtime: Runtime, path: str = ".", depth: Annotated[int, Field(ge=1, le=32)] = 1
) -> Answer:
    """List the files and directories in a directory, to a depth."""
    ports: Ports = runtime.context
    workspace = ports.workspace
    folder = locate(workspace, path) if in_workspace(path) not in {"", ".", ROOT} else "."
    marks = {link: f" -> {target}" for link, target in workspace.links().items()}
    submodules = missing_submodules(workspace)
    marks |= dict.fromkeys(submodules, " (a submodule, without its files)")
    entries = {**workspace.list(), **workspace.submodule_files(), **dict.fromkeys(marks, 0)}
    if ports.repository is None:
        names = listing(entries, folder or ".", depth)
    else:
        names = outline(entries, folder or ".", depth, MOST_NAMES)
    if names is None:
        raise ToolRefused(_explain_missing_folder(workspace, path, folder))
    prefix = f"{folder}/" if folder not in {"", "."} else ""
    lines = [visible(name + marks.get(prefix + name, "")) for name in names[:MOST_NAMES]]
    if len(names) > MOST_NAMES:
        more = len(names) - MOST_NAMES
        lines.append(f"[{more} more: list one of these directories, or use a smaller depth]")
    return "\n".join(lines) or "(empty)", of_use("list_dir", path, ok=True)


def _explain_missing_folder(workspace: Workspace, path: str, folder: str) -> str:
    if submodule := missing_submodule_of(workspace, folder):
        return f"{submodule!r} is a submodule, another repository, whose files are not here"
    return f"there is no directory {path!r}"


async def view_image(path: str, runtime: Runtime) -> Answer:
    """Look at an image, such as a saved plot: a PNG or JPEG file."""
    ports: Ports = runtime.context
    name = in_workspace(path)
    content = await ports.workspace.read(locate(ports.workspace, path))
    if content is None:
        raise ToolRefused(explain_missing(ports.workspace, path))
    if problem := why_not_shown(content):
        raise ToolRefused(f"{name!r} cannot be shown: {problem}")
    viewed = traces(this_pass(runtime.state["messages"]))
    if sum("image" in trace for trace in viewed) >= MOST_IMAGES:
        raise ToolRefused(f"{MOST_IMAGES} images have been viewed, which is the limit")
    trace = of_use(VIEW_IMAGE, name, ok=True)
    trace["image"] = await ports.workspace.keep(content)
    return f"The image {name} follows.", trace
