"""What the runs show, and what a verdict may therefore say. Pure.

Nothing is approved that has not run (design: evidence before approval).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from agents.plots import asks_for_plot, has_image
from agents.state import Run

_NUMBER = re.compile(r"\d+")

NO_RUN = "nothing has been run yet"
NO_SUCCESS = "no run has succeeded"
NO_IMAGE = "the task asks for a plot, and no image file was saved"
UNREADABLE = "the critic's reply could not be read, so the rules decided"


class Critique(TypedDict):
    """A judgement as it is kept and told; `overruled` says why the critic's word did not count."""

    revision: int
    verdict: Literal["approve", "revise"]
    feedback: str
    run: str | None
    overruled: str | None


class Said(TypedDict):
    """What the critic itself said."""

    verdict: Literal["approve", "revise"]
    feedback: str
    run: str | None


def runs_that_count(runs: Sequence[Run], revision: int) -> list[Run]:
    """The runs of this revision; where it made none, those of the whole job."""
    return [run for run in runs if run["revision"] == revision] or list(runs)


def succeeded(runs: Sequence[Run], revision: int) -> bool:
    """Whether a run that counts has succeeded."""
    return any(run["succeeded"] for run in runs_that_count(runs, revision))


def lacking(state: Mapping[str, Any]) -> str | None:
    """What stands in the way of an approval, or None."""
    runs = state.get("runs", [])
    if not runs:
        return NO_RUN
    if not succeeded(runs, state["revision"]):
        return NO_SUCCESS
    if asks_for_plot(state["job"]["task"]) and not has_image(state.get("artifacts", {})):
        return NO_IMAGE
    return None


def judged(state: Mapping[str, Any], said: Said | None) -> Critique:
    """The critic's word as far as the evidence bears it; None is a word that could not be read."""
    counting = runs_that_count(state.get("runs", []), state["revision"])
    named = _named(state.get("runs", []), said["run"]) if said else None
    critique = Critique(
        revision=state["revision"],
        verdict="revise",
        feedback=said["feedback"] if said else "",
        run=named["id"] if named else None,
        overruled=None,
    )
    if said is not None and said["verdict"] == "revise":
        return critique
    lack = lacking(state) or _failed(named if said else counting[-1])
    if lack is None:
        critique["verdict"] = "approve"
        critique["run"] = critique["run"] or _latest_success(counting)
    else:
        critique["feedback"] = "\n\n".join(filter(None, (_asked(lack), critique["feedback"])))
    critique["overruled"] = UNREADABLE if said is None else lack
    return critique


def best_answer(state: Mapping[str, Any]) -> str:
    """The approved answer; without approval the latest whose revision had a successful run."""
    answers: Sequence[Mapping[str, Any]] = state.get("answers", [])
    if not answers:
        return ""
    if state.get("approved_by") is None:
        good = {run["revision"] for run in state.get("runs", []) if run["succeeded"]}
        for answer in reversed(answers):
            if answer["revision"] in good:
                return str(answer["text"])
    return str(answers[-1]["text"])


def _failed(run: Run | None) -> str | None:
    if run is None or run["succeeded"]:
        return None
    return f"run {run['id']}, on which the approval would rest, did not succeed"


def _asked(lack: str) -> str:
    asked = {
        NO_RUN: "Run the code with the python tool, and show that it does what the task asks.",
        NO_SUCCESS: "Mend the code, and run it until it ends with exit code 0.",
        NO_IMAGE: "Save the plot as an image file in the working directory.",
    }
    return f"Not approved: {lack}. {asked.get(lack, 'Run it again and show that it works.')}"


def _named(runs: Sequence[Run], name: str | None) -> Run | None:
    """The run that a verdict names as `r3`, `run 3` or `3`; None where there is no such run."""
    number = _NUMBER.search(name or "")
    wanted = int(number[0]) if number else None
    return next((run for run in runs if run["number"] == wanted), None)


def _latest_success(runs: Sequence[Run]) -> str | None:
    return next((run["id"] for run in reversed(runs) if run["succeeded"]), None)
