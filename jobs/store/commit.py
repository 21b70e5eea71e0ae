"""One atomic step for one job: guards, events and commands for `lua/commit.lua`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import Redis
from redis.commands.core import AsyncScript

from jobs.errors import StoreUnavailable
from jobs.model.codec import event_body
from jobs.model.events import NewEvent
from jobs.redis.connection import Argument, Command, lua, translate_redis_errors, urgent_script
from jobs.redis.keys import JobKeys

REPLICATED_MS = 1_000
"""How long replicas may take to have a write; less than an answer of Redis may take."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What must hold: see `lua/commit.lua` for the kinds."""

    kind: str
    key: str
    field: str = ""
    value: str = ""


def field_is(key: str, name: str, value: str | int) -> Guard:
    """The hash field equals `value`; an empty one stands for a missing field."""
    return Guard("field", key, name, str(value))


def size_is(key: str, size: int) -> Guard:
    """The hash has so many fields."""
    return Guard("size", key, "", str(size))


def absent(key: str) -> Guard:
    """The key does not exist."""
    return Guard("absent", key)


def head_is(key: str, value: str) -> Guard:
    """The list is empty or begins with `value`."""
    return Guard("head", key, "", value)


@dataclass(frozen=True, slots=True)
class Step:
    """One atomic step for one job; `epoch`: of the attempt that reports the events."""

    keys: JobKeys
    guards: Sequence[Guard] = ()
    events: Sequence[NewEvent] = ()
    commands: Sequence[Command] = field(default_factory=tuple)
    epoch: int | None = None

    def script_keys(self) -> list[str]:
        """KEYS of the script."""
        return [self.keys.events, self.keys.facts]

    def script_args(self) -> list[Argument]:
        """ARGV of the script."""
        return [*self._guard_args(), *self._event_args(), *self._command_args()]

    def _guard_args(self) -> Iterable[Argument]:
        yield len(self.guards)
        for guard in self.guards:
            yield from (guard.kind, guard.key, guard.field, guard.value)

    def _event_args(self) -> Iterable[Argument]:
        yield self.keys.channel
        yield len(self.events)
        for event in self.events:
            yield from (event.key, event_body(event, self.epoch))

    def _command_args(self) -> Iterable[Argument]:
        yield len(self.commands)
        for command in self.commands:
            yield len(command)
            yield from command


class Commit:
    """The script that makes every write to a job.

    `replicas`: how many of them must have a step before it counts (WAIT). If they do not have it in
    time, the step is still applied on the primary but reported as failed; a caller that tries again
    finds it there and waits for the replicas again.
    """

    def __init__(self, redis: Redis, replicas: int = 0) -> None:
        text = lua("commit")
        self._redis = redis
        self._replicas = replicas
        self._script = redis.register_script(text)
        self._urgent = urgent_script(redis, text)

    async def apply(self, step: Step) -> bool:
        """Whether all its guards held, and it was written. Raises StoreUnavailable."""
        return await self._run(self._script, step)

    async def apply_although_full(self, step: Step) -> bool:
        """The same for small steps that free something or record a cost: every change of a record
        except a claim, its removal, and charges. A new job, a claim and the results of an attempt
        wait until Redis has memory.
        """
        return await self._run(self._urgent, step)

    async def _run(self, script: AsyncScript, step: Step) -> bool:
        applied, *_ = await self.durably(script, step.script_keys(), step.script_args())
        return bool(applied)

    async def durably(
        self, script: AsyncScript, names: Sequence[str], args: Sequence[Argument]
    ) -> Any:
        """The answer of a script whose writes count once the replicas have them."""
        async with translate_redis_errors():
            if self._replicas == 0:
                return await script(keys=names, args=args)
            async with self._redis.client() as one:  # WAIT is for what its own connection has asked
                answer = await script(keys=names, args=args, client=one)
                have = await one.wait(self._replicas, REPLICATED_MS)
        if have < self._replicas:
            raise StoreUnavailable(f"{have} of {self._replicas} replicas have the write")
        return answer
