"""Attempt: one worker's leased try at a job. Drive the graph, then pause, finish or let go.

This is one of the two outer walls of the house: whatever goes wrong inside becomes a change of the
record here, or is left to the lease.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import RunControl
from langgraph.types import Command, Interrupt, StateSnapshot

from agents.job import JobInput, initial_state
from agents.outcome import Outcome, outcome
from agents.ports import Earlier, Ports
from jobs.errors import Contended, StaleEpoch, StoreUnavailable
from jobs.graph_format import ANEW
from jobs.lifecycle import Refusal
from jobs.operations import Operations
from jobs.record import JobRecord, Reason, Result
from jobs.review import Review, ReviewKind
from jobs.spec import JobSpec, Kind, OnExhausted
from jobs.store import Held, Turn
from worker import verification
from worker.best import best
from worker.checkpoints.errors import CheckpointUnreadable
from worker.collapse import collapse, exhausted
from worker.equipment import Equipment
from worker.failure import Drop, Fail, GiveBack, HandBack, Park, Retry, fate
from worker.ledger import CURRENT, Ledger
from worker.patience import patient
from worker.resumption import Asked, Begin, Ended, GoOn, foreseen, resumption
from worker.upgrade import damaged, ours, question

TURNS_SEEN = 3
HAND_BACK_SECONDS = 1.0
SETTLE_SECONDS = 2.0

log = structlog.get_logger("worker.attempt")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try. `record` is the job as it was claimed."""

    record: JobRecord
    operations: Operations
    equipment: Equipment
    control: RunControl

    @property
    def held(self) -> Held:
        """The lease this attempt believes to hold."""
        return Held(self.record.id, self.record.epoch)

    async def run(self) -> None:
        """Work until the job pauses, ends, drains or is lost. Raises nothing but cancellation,
        and not even that where the worker drains: then the job is given back.
        """
        logger = log.bind(
            job_id=self.record.id, attempt=self.record.attempts, request_id=self.record.request_id
        )
        logger.info("attempt started")
        try:
            ended = await self._to_the_end()
        except StaleEpoch as error:
            ended = Refusal("left", str(error))
        except (StoreUnavailable, Contended) as error:
            ended = await self._hand_back(str(error))
        except Exception as error:
            if exhausted(error):
                collapse(error)
            logger.error("attempt could not be ended", exc_info=error)
            ended = Refusal("left", f"{type(error).__name__}: {error}")
        if isinstance(ended, Refusal):
            logger.warning("attempt dropped", why=ended.detail)
        else:
            logger.info("attempt ended", status=str(ended.status), reason=ended.reason)

    async def _hand_back(self, why: str) -> JobRecord | Refusal:
        """Let go of the job as soon as Redis listens again, which is no try of the job's. Left to
        its lease, it would count as crashed although nothing did, and twice of that runs it alone
        (J7).
        """
        log.warning("attempt waits for Redis", job_id=self.record.id, why=why)
        while True:
            await asyncio.sleep(HAND_BACK_SECONDS)
            with contextlib.suppress(StoreUnavailable, Contended):
                await self._last_words()
                return await self.operations.give_back(self.held, why)

    async def _last_words(self, settle_seconds: float = 0.0) -> None:
        if ledger := CURRENT.get(None):
            await ledger.settled(settle_seconds)
            await ledger.last_words()

    async def _to_the_end(self) -> JobRecord | Refusal:
        try:
            return await self._guarded()
        except asyncio.CancelledError:
            if not self.control.drain_requested:
                with contextlib.suppress(StoreUnavailable, Contended):
                    await self._last_words()
                raise
            await self._last_words(SETTLE_SECONDS)  # a call that has finished counts
            return await self.operations.give_back(self.held, "stopped in the middle of a call")

    async def _guarded(self) -> JobRecord | Refusal:
        """The drive, with every failure turned into a change of the record."""
        if (review := question(self.record)) is not None:
            return await patient(lambda: self.operations.pause(self.held, review))
        spec = self.record.spec
        left = max(spec.timeout_seconds - self.record.ran_ms / 1000, 0.0)
        try:
            async with asyncio.timeout(left) as deadline:
                return await self._drive()
        except Exception as error:  # noqa: BLE001 - the outer wall of an attempt
            if deadline.expired():
                said = f"the job ran for {spec.timeout_seconds} s, its timeout_seconds"
                return await self._fail(Reason.DEADLINE, said)
            return await self._fate(error)

    async def _fate(self, error: Exception) -> JobRecord | Refusal:
        if exhausted(error):
            collapse(error)
        match fate(error):
            case GiveBack():
                return await self.operations.give_back(self.held, "the worker is stopping")
            case Drop(why):
                return Refusal("dropped", why)
            case Retry(Reason.SANDBOX_UNAVAILABLE, detail) if not await self._sandbox_works():
                said = f"no code can be run on this worker: {detail}"
                return await self.operations.give_back(self.held, said)
            case HandBack(why):
                return await self._hand_back(why)
            case Park(place):
                log.error("checkpoint unreadable", job_id=self.record.id, place=place)
                asked = damaged(self.record, place)
                return await patient(lambda: self.operations.pause(self.held, asked))
            case Retry(reason, detail):
                return await patient(lambda: self.operations.retry(self.held, reason, detail))
            case Fail(reason, detail, unforeseen):
                if unforeseen:
                    log.error("attempt failed", job_id=self.record.id, exc_info=error)
                return await self._fail(reason, detail)

    async def _sandbox_works(self) -> bool:
        """Looked at again: one that is broken for all costs this job no try, and takes no other."""
        return await self.equipment.readiness.look()

    async def _drive(self) -> JobRecord | Refusal:
        ledger = await patient(lambda: self.equipment.ledger(self.record))
        CURRENT.set(ledger)
        if self.record.spec.kind is Kind.VERIFICATION:
            return await self._verify(ledger)
        match await self._where():
            case Begin():
                return await self._begin(ledger)
            case GoOn(feed):
                return await self._through(ledger, feed)
            case Asked(interrupt):
                return await self._pause(ledger, interrupt)
            case Ended(state):
                return await self._finish(ledger, outcome(state))

    async def _verify(self, ledger: Ledger) -> JobRecord | Refusal:
        """Judge the job's checks: it succeeds whether they pass or not."""
        ports = await self.equipment.ports(self.record, ledger)
        checked = await verification.verified(ports)
        await ledger.flush()
        result = Result(verification.answer(checked), approved_by=None, checks=checked)
        return await patient(lambda: self.operations.succeed(self.held, result))

    async def _begin(self, ledger: Ledger) -> JobRecord | Refusal:
        """From the start: the conversation's last workspace with this job's files laid over it."""
        record = self.record
        store = self.operations.store
        if record.graph == ANEW:
            await self.equipment.give_up(record.id)
            record = replace(record, workspace=record.spec.workspace)
        turns = await patient(
            lambda: store.conversation(record.tenant, record.conversation_id, TURNS_SEEN)
        )
        base = turns[0].workspace if turns else None
        ports = await self.equipment.ports(record, ledger, base)
        feed = initial_state(_input(record.spec, turns, ports))
        return await self._through(ledger, feed, ports)

    async def _through(
        self,
        ledger: Ledger,
        feed: Command[Any] | Mapping[str, Any] | None,
        ports: Ports | None = None,
    ) -> JobRecord | Refusal:
        """Run the graph to its next pause or its end."""
        ports = ports or await self.equipment.ports(self.record, ledger)
        if self.record.graph != ours():
            ledger.write_in(ours())
        state = await self.equipment.graph.ainvoke(
            feed, self._config(), context=ports, durability="sync", control=self.control
        )
        if interrupts := state.get("__interrupt__"):
            return await self._pause(ledger, interrupts[0])
        return await self._finish(ledger, outcome(state))

    async def _where(self) -> Begin | GoOn | Asked | Ended:
        if (known := foreseen(self.record)) is not None:
            return known
        snapshot = await self._snapshot()
        if self.record.inherits is not None and not snapshot.values:
            await self.equipment.inherit(self.record.inherits, self.record.id)
            snapshot = await self._snapshot()
        return resumption(self.record, snapshot)

    async def _pause(self, ledger: Ledger, interrupt: Interrupt) -> JobRecord | Refusal:
        await ledger.flush()
        await self.equipment.write_down(self.record)
        asks = ReviewKind.QUESTIONS if "questions" in interrupt.value else ReviewKind.REVIEW
        review = Review(interrupt.id, asks, interrupt.value)
        return await patient(lambda: self.operations.pause(self.held, review))

    async def _finish(self, ledger: Ledger, ended: Outcome) -> JobRecord | Refusal:
        await ledger.flush()
        result = _result(ended)
        spec = self.record.spec
        if ended.exhausted and spec.on_exhausted is OnExhausted.FAIL:
            said = f"not approved: {ended.ends}"
            why = f"within {spec.max_revisions} revisions"
            said = f"not approved: {ended.ends}" if ended.ends else f"not approved {why}"
            return await self._failed(Reason.UNAPPROVED, said, result)
        await self.equipment.write_down(self.record)
        return await patient(lambda: self.operations.succeed(self.held, result, ended.summary))

    async def _fail(self, reason: Reason, detail: str) -> JobRecord | Refusal:
        """Fail with the best result that the checkpoints hold."""
        return await self._failed(reason, detail, await self._best())

    async def _best(self) -> Result | None:
        loaded = await patient(lambda: self.operations.store.load(self.record.id))
        record = loaded.record if loaded else self.record
        if self.record.graph == ANEW and record.graph == ANEW:  # they are still those of before
            return None
        try:
            snapshot = await self._snapshot()
        except CheckpointUnreadable:
            return None
        told = await patient(lambda: self.operations.store.events(self.record.id))
        there = None  # branches have files of their own
        if not record.spec.parallel:
            there = await patient(lambda: self.equipment.files(record.workspace))
        return best(snapshot.values, told, there)

    async def _failed(
        self, reason: Reason, detail: str, result: Result | None
    ) -> JobRecord | Refusal:
        await patient(self._last_words)
        await self.equipment.write_down(self.record)
        return await patient(lambda: self.operations.fail(self.held, reason, detail, result))

    async def _snapshot(self) -> StateSnapshot:
        read: Callable[[], Awaitable[StateSnapshot]]
        read = partial(self.equipment.graph.aget_state, self._config())
        return await patient(read)

    def _config(self) -> RunnableConfig:
        return {"configurable": {"thread_id": self.record.id}}


def _input(spec: JobSpec, turns: Sequence[Turn], ports: Ports) -> JobInput:
    return JobInput(
        task=spec.task,
        steps=spec.steps,
        review=spec.review,
        max_revisions=spec.max_revisions if spec.repair else 1,
        on_exhausted=spec.on_exhausted.value,
        earlier=tuple(Earlier(turn.task, turn.summary) for turn in reversed(turns)),
        files=tuple(ports.workspace.list()),
        checks=spec.checks is not None,
        write_tests=spec.write_tests,
        questions=spec.questions,
        parallel=spec.parallel,
    )


def _result(ended: Outcome) -> Result:
    return Result(
        answer=ended.answer,
        approved_by=ended.approved_by,
        artifacts=tuple(ended.artifacts),
        override=ended.override,
        checks=ended.checks,
    )
