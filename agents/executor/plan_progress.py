"""The plan's steps that the executor works on, by its own tool calls. Pure.

Each tool takes an additional argument, `plan_steps`, with which the model says what a call is for.
This costs no call of a model, and nothing is guessed for a model that does not say it. A step
starts with the first reply that names it. It is finished when a later reply names a later step, or
when the model ends the pass; but never while the last run has failed.

Why: docs/decisions/0024-progress-as-said.md
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from agents.calls.call_key import for_call
from agents.history import run_in
from agents.ports import CallKey, Event
from agents.tools.registry import PLAN_STEPS

STEP_EVENT_OFFSET = 500
"""A reply's ordinals from here on are for the events of steps."""

Named = tuple[int, ...]
"""Steps that one call is for."""


@dataclass(frozen=True, slots=True)
class StepChanges:
    """Steps that are finished, then steps that start. Numbers from 1."""

    finished: tuple[int, ...] = ()
    started: tuple[int, ...] = ()

    def events(self, outer: CallKey, reply: int, revision: int) -> Sequence[Event]:
        """Their events; `reply` is the number of earlier replies in this pass."""
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
    """The arguments that the tool itself takes."""
    return {name: value for name, value in args.items() if name != PLAN_STEPS}


def at_reply(messages: Iterable[BaseMessage], reply: AIMessage, steps: int) -> StepChanges:
    """The changes by a `reply` after the `messages` of its pass; `steps` is the plan's length."""
    now = _progress(messages, steps)
    return _moved(now, _all(_named(reply, steps, now.at)))


def at_end(messages: Iterable[BaseMessage], steps: int) -> StepChanges:
    """The steps that are finished when the model ends the pass."""
    now = _progress(messages, steps)
    return StepChanges(finished=tuple(sorted(now.open)) if now.well else ())


@dataclass(frozen=True, slots=True)
class _Progress:
    """The steps that are open, those of the last call, and whether the last run succeeded."""

    open: frozenset[int] = frozenset()
    at: Named = ()
    well: bool = True


def _progress(messages: Iterable[BaseMessage], steps: int) -> _Progress:
    """The progress after `messages`. It is computed for each reply: one without steps costs
    little."""
    now = _Progress()
    for message in messages if steps else ():  # no plan, no steps
        if isinstance(message, ToolMessage):
            well = _run_succeeded(message)
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
    return any(PLAN_STEPS in call["args"] for call in reply.tool_calls)


def _still_open(now: _Progress) -> bool:
    """Whether another call for the same steps would finish others."""
    return now.well and not now.open.issubset(now.at)


def _run_succeeded(message: ToolMessage) -> bool | None:
    """Whether the run of a call succeeded; None if it made none."""
    run = run_in(message.artifact) if message.artifact else None
    return None if run is None else bool(run["succeeded"])


def _moved(now: _Progress, named: Sequence[int]) -> StepChanges:
    left = now.open.difference(named) if now.well else ()
    return StepChanges(
        finished=tuple(sorted(step for step in left if step < max(named, default=0))),
        started=tuple(step for step in named if step not in now.open),
    )


def _named(reply: AIMessage, steps: int, at: Named) -> list[Named]:
    """The steps of each call. A call without steps is for those of the call before it; for the
    first of the reply these are `at`."""
    found: list[Named] = []
    for call in reply.tool_calls:
        at = _numbers(call["args"].get(PLAN_STEPS), steps) or at
        found.append(at)
    return found


def _all(named: Iterable[Named]) -> Sequence[int]:
    return list(dict.fromkeys(step for of_call in named for step in of_call))


def _numbers(named_steps: Any, steps: int) -> Named:
    """The steps in an argument that the plan has. Models write `2` as well as `[2]`."""
    numbers = (
        _number(one) for one in (named_steps if isinstance(named_steps, list) else [named_steps])
    )
    return tuple(sorted({number for number in numbers if 1 <= number <= steps}))


def _number(named_steps: Any) -> int:
    text = str(named_steps).strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else 0
