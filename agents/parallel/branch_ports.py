"""The ports of a branch: those of its attempt, with its own files and journal entries.

A job's record names one workspace, that of its last finished call; branches have one each. So each
journal entry of a branch also names the branch's files after that call, and a branch that starts
again after a crash restores its files while it recalls its calls. The record keeps the workspace
that the wave started with until the branches are merged.
"""

from __future__ import annotations

import re
from dataclasses import replace

from agents.attempt import Ports, ToolCallSequencer
from agents.errors import StateUnreadable
from agents.ports import Charge, Event, Events, Finished, Journal, Workspace

_END = b"\n"
_DIGEST = re.compile(rb"([0-9a-f]{64})?")


class BranchJournal:
    """A branch's view of the attempt's journal."""

    def __init__(self, ports: Ports, workspace: Workspace, step: int) -> None:
        self._journal: Journal = ports.journal
        self._workspace = workspace
        self._step = step

    async def recall(self, key: str) -> bytes | None:
        """See `agents.ports.Journal`; also restores the branch's files after that call.

        Raises StateUnreadable if the entry does not begin with a digest.
        """
        entry = await self._journal.recall(key)
        if entry is None:
            return None
        workspace, _, outcome = entry.partition(_END)
        if _DIGEST.fullmatch(workspace) is None:
            raise StateUnreadable(f"journal entry {key}: it names no files")
        await self._workspace.checkout(workspace.decode() or None)
        return outcome

    async def record(self, key: str, finished: Finished) -> None:
        """See `agents.ports.Journal`."""
        left = (self._workspace.digest or "").encode()
        entry = replace(
            finished,
            outcome=left + _END + finished.outcome,
            events=[_of_step(event, self._step) for event in finished.events],
            workspace=None,
        )
        await self._journal.record(key, entry)

    async def paid(self, charge: Charge) -> None:
        """See `agents.ports.Journal`."""
        await self._journal.paid(charge)


class BranchEvents:
    """Events that name their step."""

    def __init__(self, events: Events, step: int) -> None:
        self._events = events
        self._step = step

    async def emit(self, event: Event) -> None:
        """See `agents.ports.Events`."""
        await self._events.emit(_of_step(event, self._step))


async def branch_ports(ports: Ports, step: int, base: str | None) -> Ports:
    """The ports of the branch for `step`, with the files of digest `base`."""
    workspace = ports.workspace.fork()
    await workspace.checkout(base)
    return replace(
        ports,
        workspace=workspace,
        journal=BranchJournal(ports, workspace, step),
        events=BranchEvents(ports.events, step),
        sequencer=ToolCallSequencer(),
    )


def _of_step(event: Event, step: int) -> Event:
    return replace(event, data={**event.data, "step": step})
