"""The tool `edit_file`: a change in places, whole or not at all.

Finding a text and applying a diff are pure functions, linear in the size of the texts, over the
workspace's manifest: there is nothing in them that a room would keep away.
"""

from __future__ import annotations

from collections.abc import Mapping

from agents.edits.exact import replaced
from agents.edits.patch import patched
from agents.edits.unified import read
from agents.errors import ToolRefused
from agents.paths import checked, in_workspace, objection
from agents.ports import Ports, Workspace
from agents.tools.call import Answer, Runtime
from agents.tools.read_file import text_of
from agents.tools.trace import Trace, of_use

MOST_BYTES = 1024 * 1024
"""Of a file that is edited here: this runs beside other jobs, and a room does not."""
EITHER = "give path, old_text and new_text, or diff"


async def edit_file(
    runtime: Runtime,
    path: str | None = None,
    old_text: str | None = None,
    new_text: str | None = None,
    diff: str | None = None,
) -> Answer:
    """Change part of a file: replace a text that is in it exactly once, or apply a unified diff.

    Give `path`, `old_text` and `new_text`; or `diff`, which may change, make (--- /dev/null) and
    delete (+++ /dev/null) several files. It is applied whole or not at all. Nothing is guessed:
    white space counts, and where `old_text` or a hunk's lines are not there exactly, the answer
    shows what is.

    Args:
        path: The file's path, relative to the working directory.
        old_text: What is to be replaced, copied exactly; enough lines to be there only once.
        new_text: What takes its place; empty to remove it.
        diff: A unified diff. Line numbers may be left out (@@ alone): context finds the place.
    """
    ports: Ports = runtime.context
    if diff is not None:
        if old_text is not None or new_text is not None:
            raise ToolRefused(f"{EITHER}, not both")
        return await _patch(ports, diff, path)
    if path is None or old_text is None or new_text is None:
        raise ToolRefused(EITHER)
    name = checked(in_workspace(path))
    edit = replaced(await _text(ports.workspace, name), old_text, new_text, name)
    trace = await _lay(ports, {name: edit.text}, frozenset())
    return f"edited {name} (line {edit.line})", trace


async def _patch(ports: Ports, diff: str, path: str | None) -> Answer:
    diffs = read(diff, path)
    there = ports.workspace.list()
    texts = {
        each.path: await _text(ports.workspace, each.path) if each.path in there else None
        for each in diffs
    }
    done = patched(texts, diffs)
    trace = await _lay(ports, done.changed, done.deleted)
    return f"applied: {', '.join(done.done)}", trace


async def _text(workspace: Workspace, name: str) -> str:
    size = workspace.list().get(name, 0)
    if size > MOST_BYTES:
        raise ToolRefused(
            f"{name!r} is too large to edit here: {size} bytes of at most {MOST_BYTES}; change it "
            "with a program"
        )
    return await text_of(workspace, name)


async def _lay(ports: Ports, texts: Mapping[str, str], deleted: frozenset[str]) -> Trace:
    """Put the new texts into the workspace, all at once."""
    data = {name: text.encode(errors="replace") for name, text in texts.items()}
    sizes = {name: len(content) for name, content in data.items()}
    if why := objection(ports.workspace.list(), sizes, ports.limits, deleted):
        raise ToolRefused(f"{why}; nothing was changed")
    made = await ports.workspace.apply(data, deleted)
    return of_use("edit_file", ", ".join(sorted({*texts, *deleted})), ok=True, made=made)
