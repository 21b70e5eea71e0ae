"""The tool `write_file`. It needs no sandbox, like `read_file`."""

from __future__ import annotations

from agents.attempt import Ports
from agents.errors import ToolRefused
from agents.failures.workspace_change import Change, change
from agents.line_ends import BOM, adapt_appended, keep_line_ends
from agents.links import locate_to_write
from agents.paths import visible, write_objection
from agents.tools.call import Answer, Runtime
from agents.tools.trace import of_use


async def write_file(path: str, content: str, runtime: Runtime, append: bool = False) -> Answer:
    """Write a new text file, or replace a whole one, which keeps its line ends.

    Args:
        append: Add the content to the end of the file instead.
    """
    ports: Ports = runtime.context
    name = locate_to_write(ports.workspace, path)
    before = await ports.workspace.read(name)
    data = _added(name, before or b"", content) if append else _whole(before or b"", content)
    reason = write_objection(
        ports.workspace,
        {name: len(data)},
        ports.limits,
        has_repository=ports.repository is not None,
    )
    if reason is not None:
        raise ToolRefused(reason)
    made = await ports.workspace.apply({name: data})
    changed = change({name: before}, {name: data}) if before is not None else None
    if append and before is not None:
        text = f"added to {visible(name)}: it has {len(data)} bytes now"
    else:
        text = f"wrote {visible(name)} ({len(data)} bytes){_instead(changed)}"
    diff = changed.diff if changed else ""
    return text, of_use("write_file", name, ok=True, made=made, diff=diff)


def _whole(before: bytes, content: str) -> bytes:
    """The new bytes of a file, with the line ends and the byte order mark that it has."""
    old = before.decode(errors="surrogateescape")
    mark = BOM if old.startswith(BOM) and not content.startswith(BOM) else ""
    return (mark + keep_line_ends(content, old)).encode(errors="replace")


def _added(name: str, before: bytes, content: str) -> bytes:
    try:
        text = adapt_appended(content, before.decode())
    except UnicodeDecodeError:
        raise ToolRefused(
            f"{name!r} is not UTF-8 text, and `content` would be: add to it with a program"
        ) from None
    return before + text.encode(errors="replace")


def _instead(changed: Change | None) -> str:
    """The number of changed lines of a file that existed before."""
    if changed is None or not changed.diff:
        return ""
    lines = f"{changed.added} lines added, {changed.removed} removed"
    return f"; it replaced an existing file: {lines}; to change a part use edit_file"
