"""Derives the progress of the plan from the executor's tool calls. Pure.

Each tool takes an additional argument, `plan_steps`, in which the model names the steps that a call
is for. This needs no additional call of a model, and Fettle guesses no step that the model does not
name. A step starts with the first reply that names it. It is finished when a later reply names a
later step, or when the model ends the pass, but never while the last run has failed.

See ADR 24.
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
"""The first ordinal, relative to a reply, for the events of steps."""


@dataclass(frozen=True, slots=True)
class StepChanges:
    """The steps that finish, then the steps that start. Steps are numbered from 1."""

    finished: tuple[int, ...] = ()
    started: tuple[int, ...] = ()

    def events(self, pass_key: CallKey, reply_number: int, revision: int) -> Sequence[Event]:
        """The events of these changes. `reply_number` counts the earlier replies of the pass."""
        kinds = [("step_finished", step) for step in self.finished]
        kinds += [("step_started", step) for step in self.started]
        return [
            Event(
                for_call(pass_key, reply_number, STEP_EVENT_OFFSET + step),
                kind,
                {"step": step, "revision": revision},
            )
            for kind, step in kinds
        ]


@dataclass(frozen=True, slots=True)
class _Progress:
    """The state of the plan after some messages of a pass."""

    open_steps: frozenset[int] = frozenset()
    """The steps that have started and are not finished."""
    current_steps: tuple[int, ...] = ()
    """The steps of the last tool call."""
    last_run_succeeded: bool = True
    """Also true before the first run."""


def without_steps(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that the tool itself takes."""
    return {name: value for name, value in arguments.items() if name != PLAN_STEPS}


def changes_by_reply(
    messages: Iterable[BaseMessage], reply: AIMessage, plan_length: int
) -> StepChanges:
    """The changes by a `reply` that follows the `messages` of its pass."""
    progress = _progress_after(messages, plan_length)
    return _changes(progress, _steps_by_call(reply, plan_length, progress.current_steps))


def changes_at_end(messages: Iterable[BaseMessage], plan_length: int) -> StepChanges:
    """The changes when the model ends a pass with these messages."""
    progress = _progress_after(messages, plan_length)
    if not progress.last_run_succeeded:
        return StepChanges()
    return StepChanges(finished=tuple(sorted(progress.open_steps)))


def _progress_after(messages: Iterable[BaseMessage], plan_length: int) -> _Progress:
    progress = _Progress()
    if plan_length == 0:
        return progress
    for message in messages:
        if isinstance(message, ToolMessage):
            run = run_in(message.artifact) if message.artifact else None
            if run is not None:
                progress = replace(progress, last_run_succeeded=bool(run["succeeded"]))
        elif isinstance(message, AIMessage):
            steps_by_call = _steps_by_call(message, plan_length, progress.current_steps)
            changes = _changes(progress, steps_by_call)
            progress = replace(
                progress,
                open_steps=progress.open_steps.difference(changes.finished).union(changes.started),
                current_steps=steps_by_call[-1] if steps_by_call else progress.current_steps,
            )
    return progress


def _changes(progress: _Progress, steps_by_call: Sequence[tuple[int, ...]]) -> StepChanges:
    """The changes by a reply with calls for these steps."""
    reply_steps = list(dict.fromkeys(step for steps in steps_by_call for step in steps))
    last_step = max(reply_steps, default=0)
    unnamed = progress.open_steps.difference(reply_steps) if progress.last_run_succeeded else ()
    return StepChanges(
        finished=tuple(sorted(step for step in unnamed if step < last_step)),
        started=tuple(step for step in reply_steps if step not in progress.open_steps),
    )


def _steps_by_call(
    reply: AIMessage, plan_length: int, current_steps: tuple[int, ...]
) -> list[tuple[int, ...]]:
    """The steps of each call of a reply. A call that names no steps is for the steps of the call
    before it; before the first call of the reply these are `current_steps`."""
    steps_by_call: list[tuple[int, ...]] = []
    for call in reply.tool_calls:
        current_steps = _read_steps(call["args"].get(PLAN_STEPS), plan_length) or current_steps
        steps_by_call.append(current_steps)
    return steps_by_call


def _read_steps(argument: Any, plan_length: int) -> tuple[int, ...]:
    """The steps of the plan that an argument names. Models write `2` as well as `[2]`."""
    values = argument if isinstance(argument, list) else [argument]
    numbers = {_read_number(value) for value in values}
    return tuple(sorted(number for number in numbers if 1 <= number <= plan_length))


def _read_number(value: Any) -> int:
    """The number; 0 if the value is not a number of at most three digits."""
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else 0
