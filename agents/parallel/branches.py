"""Branches: the input of a parallel step, its ports and its first event.

A branch has the ports of its attempt, with its own files and journal entries. A job's record names
only the workspace of the last finished call, but each branch has a workspace of its own. So each
journal entry of a branch also names the branch's files after the call. A branch that starts again
after a crash restores its files while it recalls its calls. The record keeps the workspace from the
start of the wave until the branches are merged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from langgraph.runtime import ExecutionInfo

from agents.attempt import Ports, ToolCallSequencer
from agents.calls.call_key import call_key
from agents.errors import StateUnreadable
from agents.ports import Charge, Event, Events, Finished, Journal, Workspace
from agents.runs.record import last_number
from agents.state import State

SHARED = ("job", "plan", "clarified", "tests", "interface", "level", "branches")
"""The fields of the job's state that a branch gets."""


class Branch(TypedDict):
    """A step that runs parallel to the others of its `wave`, from the files of digest `base`.

    Its runs are numbered from `runs_before` on; the branches of a wave alternate.
    """

    step: int
    wave: list[int]
    base: str | None
    revision: int
    runs_before: int
    state: State


def branch_of(state: State, wave: Sequence[int], step: int) -> Branch:
    """The branch of one `step` of the next `wave`."""
    values: Mapping[str, Any] = state
    shared: Any = {name: values[name] for name in SHARED if name in values}
    # only the critic reads these, and each branch would store them again
    shared["branches"] = [{**branch, "outside": []} for branch in values.get("branches", ())]
    return Branch(
        step=step,
        wave=list(wave),
        base=state.get("workspace"),
        revision=state["revision"] + 1,
        runs_before=last_number(state.get("runs", [])) + wave.index(step),
        state=shared,
    )


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
        workspace = (self._workspace.digest or "").encode()
        entry = replace(
            finished,
            outcome=workspace + _END + finished.outcome,
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


async def emit_started(
    ports: Ports, info: ExecutionInfo | None, wave: Sequence[int], revision: int
) -> None:
    """Emit `step_started` for each step of a wave.

    The node that sends the branches emits these events, so that they are visible at once. The
    branch's own events become visible with its first call.
    """
    for step in wave:
        data = {"step": step, "revision": revision}
        await ports.events.emit(Event(call_key(info, step), "step_started", data))
