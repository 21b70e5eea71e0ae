"""The files that a job starts with, as prompts show them: small files in full, larger files by
their first lines and an outline of their definitions.

See ADR 86.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from agents.attempt import Ports
from agents.context.ranked import context_characters
from agents.paths import is_in_setup, own_files, visible
from agents.ports import Workspace
from agents.runs.symbols import outlines
from agents.texts import as_text, lines_of, one_line
from sandbox.protocol import MIB

CONTEXT_SHARE = 8
"""The files in full take at most this part of the context of the executor's model."""
FILES_LISTED = 40
FILES_TRIED = 100
"""The smallest files, of which some may be binary."""
FILES_DESCRIBED = 8
"""The number of files of which prompts show the first lines and the definitions."""
HEAD_LINES = 3
HEAD_CHARACTERS = 160
"""The length to which each of the first lines is cut."""
MOST_READ = 32 * MIB
"""The largest size of a file of which prompts show the beginning: the full file is read for it."""
_BYTES_A_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class StartFiles:
    """The files of a workspace, for prompts."""

    listing: tuple[str, ...] = ()
    """The files without their text: name and size, and the beginning and the definitions of the
    first files."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The files in full, by path."""


async def files_at(ports: Ports, digest: str | None) -> StartFiles:
    """The files of the workspace at `digest`, without later changes by an interrupted attempt.
    Raises the sandbox's errors."""
    workspace = ports.workspace.fork()
    await workspace.checkout(digest)
    return await start_files(replace(ports, workspace=workspace))


async def start_files(ports: Ports) -> StartFiles:
    """The files of the job's workspace for prompts. Raises the sandbox's errors."""
    context = await context_characters(ports.models, "executor")
    most = ports.bounds.files
    most = most if context is None else min(most, context // CONTEXT_SHARE)
    sizes = _sizes(ports.workspace)
    texts = await texts_within(ports.workspace, sizes, most)
    listed = {path: size for path, size in sizes.items() if path not in texts}
    described = [path for path, size in listed.items() if 0 < size <= MOST_READ][:FILES_DESCRIBED]
    contents = {path: await ports.workspace.read(path) or b"" for path in described}
    details = await outlines(ports, contents)
    lines = [
        f"{visible(path)}, {size:,} bytes{_head(contents.get(path, b''))}{details.get(path, '')}"
        for path, size in list(listed.items())[:FILES_LISTED]
    ]
    if more := len(listed) - len(lines):
        lines.append(f"and {more} more: list_dir shows them")
    return StartFiles(tuple(lines), {path: texts[path] for path in sorted(texts)})


async def texts_within(
    workspace: Workspace, sizes: Mapping[str, int], most: int
) -> Mapping[str, str]:
    """The texts of the smallest files, by path, in at most `most` characters together."""
    texts: dict[str, str] = {}
    smallest = sorted((size, path) for path, size in sizes.items() if size > 0)
    for size, path in smallest[:FILES_TRIED]:
        if size > _BYTES_A_CHARACTER * most or len(texts) == FILES_LISTED:
            break
        text = as_text(await workspace.read(path) or b"")
        if text and len(text) <= most:
            texts[path] = text
            most -= len(text)
    return texts


def _sizes(workspace: Workspace) -> Mapping[str, int]:
    return {path: n for path, n in own_files(workspace).items() if not is_in_setup(path)}


def _head(content: bytes) -> str:
    """The first lines of a text, each on a line of its own."""
    text = as_text(content)
    if text is None:
        return ", binary"
    lines = [one_line(line, HEAD_CHARACTERS) for line in lines_of(text)[:HEAD_LINES]]
    return "; its first lines:" + "".join(f"\n  {line}".rstrip() for line in lines) if lines else ""
