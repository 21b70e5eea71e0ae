"""The scratch directory: files that the executor needs for its work, and that are no part of it.

They stay from one call to the next like all files, and are removed at the end of each pass, before
the work is verified, reviewed and delivered. So nothing that follows has to leave them out.

Why: docs/decisions/0085-scratch-files-end-with-a-pass.md
"""

from __future__ import annotations

from langchain_core.messages import ToolMessage

from agents.attempt import Ports
from agents.calls.call_key import digest
from agents.calls.journal import finished_call, journaled
from agents.paths import is_scratch
from agents.ports import CallKey, Finished


async def remove_scratch(ports: Ports, at: CallKey, start: str | None) -> None:
    """Remove the scratch files of a pass. Files that the job began with (`start` is the digest of
    its workspace) or that are in its repository stay. Journaled."""
    workspace = ports.workspace
    present = filter(is_scratch, {*workspace.list(), *workspace.links()})
    began = await workspace.manifest(start)
    made = [path for path in sorted(present) if path not in began]
    removed = frozenset([path for path in made if await workspace.original(path) is None])
    if not removed:
        return

    async def make() -> tuple[ToolMessage, Finished]:
        await workspace.apply({}, removed)
        message = ToolMessage("", tool_call_id="scratch")
        return message, finished_call(message, workspace=workspace.digest)

    await journaled(ports, at.key(digest("scratch", sorted(removed))), make)
