"""Ledger: everything an attempt puts on record goes through here, in order, fenced by its epoch.

A fact that belongs to no call waits in a buffer and goes out with the next write, of whatever
kind, so that a step of the graph costs one round trip and not three. Keys of facts are
deterministic: what a crashed attempt has said already is not said again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agents.ports import Charge, Fact, Finished
from jobs import store as jobs_store
from jobs.events import NewEvent
from jobs.store import Held, Store, Writes


class Ledger:
    """Implements the ports Journal and Events, and writes checkpoints, for one attempt.

    Raises jobs.errors.StaleEpoch once the job is no longer this attempt's.
    """

    def __init__(
        self, store: Store, held: Held, journal: Mapping[str, bytes], tokens: int = 0
    ) -> None:
        """`journal` and `tokens` (spent so far) are what earlier attempts left on record."""
        self._store = store
        self.held = held
        self.tokens = tokens
        self._known = dict(journal)
        self._waiting: list[NewEvent] = []
        self._workspace: str | None = None

    async def recall(self, key: str) -> bytes | None:
        """See agents.ports.Journal."""
        return self._known.get(key)

    async def record(self, key: str, finished: Finished) -> None:
        """See agents.ports.Journal."""
        self._known[key] = finished.outcome
        charges = [_charge(finished.charge)] if finished.charge else []
        self.tokens += sum(charge.input_tokens + charge.output_tokens for charge in charges)
        self._waiting.extend(_event(fact) for fact in finished.facts)
        await self._write(
            journal={key: finished.outcome}, charges=charges, workspace=finished.workspace
        )

    async def emit(self, fact: Fact) -> None:
        """See agents.ports.Events: visible with the next write."""
        self._waiting.append(_event(fact))

    def start_from(self, workspace: str | None) -> None:
        """Name the workspace the job starts from; on record with the next write."""
        self._workspace = workspace

    async def checkpoint(self, commands: Sequence[tuple[str | bytes | int | float, ...]]) -> None:
        """Apply the commands of a checkpoint, and whatever waits, in one step."""
        await self._write(commands=commands)

    async def flush(self) -> None:
        """Put on record what waits."""
        if self._waiting:
            await self._write()

    async def _write(
        self,
        *,
        journal: Mapping[str, bytes] | None = None,
        charges: Sequence[jobs_store.Charge] = (),
        workspace: str | None = None,
        commands: Sequence[tuple[str | bytes | int | float, ...]] = (),
    ) -> None:
        events, self._waiting = tuple(self._waiting), []
        workspace, self._workspace = workspace or self._workspace, None
        writes = Writes(
            events=events,
            journal=journal or {},
            charges=charges,
            workspace=workspace,
            commands=commands,
        )
        await self._store.write(self.held.job_id, self.held.epoch, writes)


def _event(fact: Fact) -> NewEvent:
    return NewEvent(fact.place.key(fact.kind), fact.kind, fact.data)


def _charge(charge: Charge) -> jobs_store.Charge:
    return jobs_store.Charge(
        call=charge.call,
        role=charge.role,
        model=charge.model,
        input_tokens=charge.input_tokens,
        output_tokens=charge.output_tokens,
        cost_usd=charge.cost_usd,
    )
