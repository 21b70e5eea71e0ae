"""Branch: the input of one parallel step. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

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
    known: Mapping[str, Any] = state
    shared: Any = {name: known[name] for name in SHARED if name in known}
    return Branch(
        step=step,
        wave=list(wave),
        base=state.get("workspace"),
        revision=state["revision"] + 1,
        runs_before=last_number(state.get("runs", [])) + wave.index(step),
        state=shared,
    )
