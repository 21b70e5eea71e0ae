"""The commit script's arguments: guards, events and commands, flattened for Redis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from jobs.codec import event_body
from jobs.events import NewEvent
from jobs.keys import JobKeys

Argument: TypeAlias = str | bytes | int | float
Command: TypeAlias = Sequence[Argument]

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True, slots=True)
class Guard:
    """What must hold: see `scripts/commit.lua` for the kinds."""

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
    """One atomic step for one job; `epoch`: of the attempt that tells the events."""

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
