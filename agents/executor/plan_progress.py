"""Which step of the plan the executor is at, as its own calls say. Pure.

Each tool takes one argument more, `plan_steps`, so that a reply which calls tools says by the way
what for: no call of a model is made to learn it. Nobody guesses: of a model that says nothing,
nothing is told. A step has begun with the first reply that calls for it. It is finished when a
reply goes on to a later one, or the model ends the pass with its own words; but nothing is while
the last run has failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from agents.calls.call_key import for_call
from agents.ports import CallKey, Event
from agents.tools.trace import run_in

ARGUMENT = "plan_steps"
STEP_EVENT_OFFSET = 500
"""Of a reply's places, those from here on are its steps'."""

Named = tuple[int, ...]
"""Steps that one call is for."""


@dataclass(frozen=True, slots=True)
class StepChanges:
    """Steps that are finished, and then those that begin; numbers from 1."""

    finished: tuple[int, ...] = ()
    started: tuple[int, ...] = ()

    def events(self, outer: CallKey, reply: int, revision: int) -> Sequence[Event]:
        """The events that tell of it; `reply` is how many there were before in this pass."""
        named_steps = [*(("step_finished", step) for step in self.finished)]
        named_steps += [("step_started", step) for step in self.started]
        return [
            Event(
                for_call(outer, reply, STEP_EVENT_OFFSET + step),
                kind,
                {"step": step, "revision": revision},
            )
            for kind, step in named_steps
        ]


def without_steps(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a tool itself takes."""
    return {name: value for name, value in args.items() if name != ARGUMENT}


def at_reply(messages: Iterable[BaseMessage], reply: AIMessage, steps: int) -> StepChanges:
    """What a `reply` moves behind the `messages` of its pass; `steps` is how many the plan has."""
    now = _walked(messages, steps)
    return _moved(now, _all(_named(reply, steps, now.at)))


def at_end(messages: Iterable[BaseMessage], steps: int) -> StepChanges:
    """What is finished with the model's last words in a pass."""
    now = _walked(messages, steps)
    return StepChanges(finished=tuple(sorted(now.open)) if now.well else ())


@dataclass(frozen=True, slots=True)
class _Standing:
    """Steps that have begun and are not finished; those of the last call; and whether the last
    run, if there was one, has succeeded."""

    open: frozenset[int] = frozenset()
    at: Named = ()
    well: bool = True


def _walked(messages: Iterable[BaseMessage], steps: int) -> _Standing:
    """Each reply goes through all before it: one that moves nothing costs next to nothing."""
    now = _Standing()
    for message in messages if steps else ():  # without a plan no call names a step of it
        if isinstance(message, ToolMessage):
            well = _well(message)
            if well is not None and well is not now.well:
                now = replace(now, well=well)
        elif isinstance(message, AIMessage) and (_names_any(message) or _still_open(now)):
            named = _named(message, steps, now.at)
            moved = _moved(now, _all(named))
            left = now.open.difference(moved.finished)
            at = named[-1] if named else now.at
            now = replace(now, open=left.union(moved.started), at=at)
    return now


def _names_any(reply: AIMessage) -> bool:
    return any(ARGUMENT in call["args"] for call in reply.tool_calls)


def _still_open(now: _Standing) -> bool:
    """Whether a call for the same steps as the last would finish others."""
    return now.well and not now.open.issubset(now.at)


def _well(message: ToolMessage) -> bool | None:
    """Whether the run that a call has made succeeded; None where it has made none."""
    run = run_in(message.artifact) if message.artifact else None
    return None if run is None else bool(run["succeeded"])


def _moved(now: _Standing, named: Sequence[int]) -> StepChanges:
    left = now.open.difference(named) if now.well else ()
    return StepChanges(
        finished=tuple(sorted(step for step in left if step < max(named, default=0))),
        started=tuple(step for step in named if step not in now.open),
    )


def _named(reply: AIMessage, steps: int, at: Named) -> list[Named]:
    """The steps of each call: one that names none is for those of the call before it; for the
    first of the reply these are `at`."""
    found: list[Named] = []
    for call in reply.tool_calls:
        at = _numbers(call["args"].get(ARGUMENT), steps) or at
        found.append(at)
    return found


def _all(named: Iterable[Named]) -> Sequence[int]:
    return list(dict.fromkeys(step for of_call in named for step in of_call))


def _numbers(named_steps: Any, steps: int) -> Named:
    """The steps that an argument names, as far as the plan has them; models write `2`, too."""
    numbers = (
        _number(one) for one in (named_steps if isinstance(named_steps, list) else [named_steps])
    )
    return tuple(sorted({number for number in numbers if 1 <= number <= steps}))


def _number(named_steps: Any) -> int:
    text = str(named_steps).strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else 0
