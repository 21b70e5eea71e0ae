"""What prompts say of a job's surroundings: the sandbox's environment, and the files given.

Why: docs/decisions/0051-prompts-name-what-is-there.md
"""

from __future__ import annotations

import json

from agents.paths import own_files
from agents.ports import Workspace
from agents.ports.environment import Environment
from agents.runs.helper import helper_limits
from agents.runs.installed import belongs_to_install
from agents.texts import lines_of, one_line
from agents.tools.inside import source
from sandbox.protocol import MIB, Command, Limits, Sandbox

MOST_PACKAGES = 40
FILES_LISTED = 40
HEADS_SHOWN = 8
HEAD_LINES = 3
HEAD_CHARACTERS = 160
"""Of each line of a file's beginning."""
MOST_READ = 32 * MIB
"""Of a file whose beginning is shown: it is read whole for that."""


async def describe(sandbox: Sandbox, limits: Limits) -> Environment:
    """What the sandbox's interpreter says of itself; the default if it says nothing.

    Raises what the sandbox raises.
    """
    argv = ("python", "-I", "-c", source("environment"))
    result = await sandbox.run(Command(argv), helper_limits(limits))
    if not result.succeeded:
        return Environment()
    found = json.loads(result.stdout.text)
    packages = found["packages"]
    if (more := len(packages) - MOST_PACKAGES) > 0:
        packages = [*packages[:MOST_PACKAGES], f"{more} more (importlib.metadata lists them)"]
    return Environment(
        found["python"],
        tuple(packages),
        tuple(found["programs"]),
        tuple(found["runners"]),
        found["digest"],
    )


async def described_files(workspace: Workspace) -> tuple[str, ...]:
    """The files that a job starts with: names, sizes, and how the first text files begin."""
    sizes = {path: n for path, n in own_files(workspace).items() if not belongs_to_install(path)}
    heads = [path for path, n in sizes.items() if 0 < n <= MOST_READ][:HEADS_SHOWN]
    lines = []
    for path, size in list(sizes.items())[:FILES_LISTED]:
        head = _head(await workspace.read(path) or b"") if path in heads else ""
        lines.append(f"{path}, {size:,} bytes{head}")
    if more := len(sizes) - len(lines):
        lines.append(f"and {more} more: list_dir shows them")
    return tuple(lines)


def _head(content: bytes) -> str:
    """The first lines of a text, each on a line of its own; that it is none, otherwise."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return ", binary"
    if "\0" in text[:4096]:
        return ", binary"
    shown = [one_line(line, HEAD_CHARACTERS) for line in lines_of(text)[:HEAD_LINES]]
    return "; its first lines:" + "".join(f"\n  {line}".rstrip() for line in shown)
