"""What the runs show of the files as they stand. Pure.

Nothing is approved that has not run, and what was run must be what is delivered (design: evidence
before approval).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.branches.joining import unresolved
from agents.checks.carried import unpassed
from agents.plots import asks_for_plot, has_image
from agents.repair.subject import only_looked
from agents.runs import EXECUTOR
from agents.state import Run

NO_RUN = "nothing has been run yet"
ONLY_LOOKED = "the runs have only looked around: none has run the code"
NO_SUCCESS = "no run has succeeded"
CHANGED = "files were changed after the last run that succeeded"
UNRESOLVED = "copies of conflicting files are left"
NO_IMAGE = "the task asks for a plot, and no image file was saved"
_DOCUMENTS = (".csv", ".json", ".jsonl", ".md", ".rst", ".tex", ".tsv", ".txt", ".xml")

State = Mapping[str, Any]


def runs_that_count(state: State) -> list[Run]:
    """The runs of this revision that did not only look around; where it made none, those of the
    whole job. Where all that the job has is documents, there may be nothing to run: a look at them
    counts where nothing else was run."""
    runs = state.get("runs", [])
    ran = [run for run in runs if not only_looked(run)]
    if not ran and _only_documents(state):
        ran = runs
    return [run for run in ran if run["revision"] == state["revision"]] or ran


def _only_documents(state: State) -> bool:
    made = state.get("artifacts", {})
    return bool(made) and all(
        name.lower().endswith(_DOCUMENTS) for name in (*made, *state["job"].get("files", ()))
    )


def unproven(state: State) -> str | None:
    """Why no run shows that what is delivered works, or None. A person who approves all the same
    overrides it."""
    runs = state.get("runs", [])
    if not runs:
        return NO_RUN
    if failed := _failed_edit(runs[-1]):
        return failed
    counting = runs_that_count(state)
    if not counting:
        return ONLY_LOOKED
    good = [run for run in counting if run["succeeded"]]
    if not good:
        return NO_SUCCESS
    if not any(is_final(run, state) for run in good):
        return CHANGED
    if copies := unresolved(state):
        return f"{UNRESOLVED}: {', '.join(copies)}"
    return unpassed(state)


def lacking(state: State) -> str | None:
    """What stands in the way of an approval by the critic, or None."""
    if lack := unproven(state):
        return lack
    if asks_for_plot(state["job"]["task"]) and not has_image(state.get("artifacts", {})):
        return NO_IMAGE
    return None


def is_final(run: Run, state: State) -> bool:
    """Whether the files are still as this run has left them. One of an older release, whose record
    does not say, gets the benefit of the doubt."""
    if "workspace" not in run or "workspace" not in state:
        return True
    return bool(run["workspace"] == state["workspace"])


def _failed_edit(last: Run) -> str | None:
    """A person's own code is what they look at: what ran before it is no evidence for it."""
    by = last.get("by", EXECUTOR)
    if by == EXECUTOR or last["succeeded"]:
        return None
    return f"the code of {by} did not succeed ({last['id']})"
