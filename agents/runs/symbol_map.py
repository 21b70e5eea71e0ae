"""The map of a repository: its source files with what they define, ranked by the job's task.

Why: docs/decisions/0058-a-map-of-the-repository.md
"""

from __future__ import annotations

import json

from agents.attempt import Ports
from agents.runs.grammars import GRAMMARS
from agents.runs.helper import run_helper
from agents.sandbox_programs import source

MAP_BYTES = 6_000
"""About 2,000 tokens."""


async def symbol_map(ports: Ports, task: str) -> str:
    """The map, a line a file, for prompts; empty without a repository, where the sandbox has no
    grammars, and where nothing is found.

    Raises what the sandbox raises.
    """
    if ports.repository is None:
        return ""
    asked = {"task": task, "bytes": MAP_BYTES, "grammars": GRAMMARS}
    tree = await ports.workspace.tree()
    command = tree.command(("python", "-I", "-c", source("symbols")), json.dumps(asked).encode())
    result = await run_helper(ports, command, "of the repository's map")
    return result.stdout.text if result.succeeded else ""
