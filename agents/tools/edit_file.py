"""The tool `edit_file`: one exact replacement in a text file.

Finding a text is linear in the size of the file, over the workspace's manifest: no sandbox is
needed for it.
"""

from __future__ import annotations

from agents.edits import replaced
from agents.errors import ToolRefused
from agents.paths import checked, in_workspace, objection
from agents.ports import Ports
from agents.tools.call import Answer, Runtime
from agents.tools.read_file import text_of
from agents.tools.trace import of_use

MOST_BYTES = 1024 * 1024
"""Of a file that is edited here, in the worker's own process, beside other jobs."""


async def edit_file(path: str, old_text: str, new_text: str, runtime: Runtime) -> Answer:
    """Change part of a file: replace a text that is in it exactly once.

    White space counts. Where `old_text` is not there exactly once, nothing is changed, and the
    answer shows what is there.

    Args:
        path: The file's path, relative to the working directory.
        old_text: What is to be replaced, copied exactly; enough lines to be there only once.
        new_text: What takes its place; empty to remove it.
    """
    ports: Ports = runtime.context
    name = checked(in_workspace(path))
    there = ports.workspace.list()
    if (size := there.get(name, 0)) > MOST_BYTES:
        raise ToolRefused(
            f"{name!r} is too large to edit here: {size} bytes of at most {MOST_BYTES}; change it "
            "with a program"
        )
    edit = replaced(await text_of(ports.workspace, name), old_text, new_text, name)
    data = edit.text.encode(errors="replace")
    if why := objection(there, {name: len(data)}, ports.limits):
        raise ToolRefused(f"{why}; nothing was changed")
    made = await ports.workspace.apply({name: data})
    return f"edited {name} (line {edit.line})", of_use("edit_file", name, ok=True, made=made)
