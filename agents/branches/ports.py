"""The ports of a branch: those of its attempt, with files and a journal of its own.

A job's record names one workspace, that of its last finished call; branches have one each. So each
entry that a branch makes in the journal names the files as they were behind it, and a branch that
starts anew after a crash gets its files back while it recalls its calls. The record keeps the
workspace that the wave began with, until what the branches have made is merged.
"""

from __future__ import annotations

from dataclasses import replace

from agents.ports import Charge, Events, Fact, Finished, Journal, Ports, Workspace
from agents.turn import Turn

_END = b"\n"


class BranchJournal:
    """Journal over that of the attempt."""

    def __init__(self, journal: Journal, workspace: Workspace, step: int) -> None:
        self._journal = journal
        self._workspace = workspace
        self._step = step

    async def recall(self, key: str) -> bytes | None:
        """See `agents.ports.Journal`; the branch's files are then as that call has left them."""
        entry = await self._journal.recall(key)
        if entry is None:
            return None
        workspace, _, outcome = entry.partition(_END)
        await self._workspace.turn_to(workspace.decode() or None)
        return outcome

    async def record(self, key: str, finished: Finished) -> None:
        """See `agents.ports.Journal`."""
        left = (self._workspace.digest or "").encode()
        entry = replace(
            finished,
            outcome=left + _END + finished.outcome,
            facts=[_of_step(fact, self._step) for fact in finished.facts],
            workspace=None,
        )
        await self._journal.record(key, entry)

    async def paid(self, charge: Charge) -> None:
        """See `agents.ports.Journal`."""
        await self._journal.paid(charge)


class BranchEvents:
    """Events that say of which step they tell."""

    def __init__(self, events: Events, step: int) -> None:
        self._events = events
        self._step = step

    async def emit(self, fact: Fact) -> None:
        """See `agents.ports.Events`."""
        await self._events.emit(_of_step(fact, self._step))


async def ports_of(ports: Ports, step: int, base: str | None) -> Ports:
    """The ports of the branch that takes `step`, whose files begin as they were at `base`."""
    workspace = ports.workspace.another()
    await workspace.turn_to(base)
    return replace(
        ports,
        workspace=workspace,
        journal=BranchJournal(ports.journal, workspace, step),
        events=BranchEvents(ports.events, step),
        turn=Turn(),
    )


def _of_step(fact: Fact, step: int) -> Fact:
    return replace(fact, data={**fact.data, "step": step})
