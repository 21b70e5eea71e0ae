"""What the runs show of the files as they stand. Pure.

Nothing is approved that has not run, and what was run must be what is delivered (design: evidence
before approval).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.branches.joining import unresolved
from agents.checks.carried import report_of, unpassed
from agents.counting import computes, counts
from agents.repair.source_file import is_source
from agents.repair.subject import only_looked
from agents.runs import EXECUTOR
from agents.state import Run

NO_RUN = "nothing has been run yet"
ONLY_LOOKED = "the runs have only looked around: none has run the code"
NO_END = "no run shows how the code ended"
NO_SUCCESS = "no run has succeeded"
CHANGED = "files were changed after the last run that succeeded"
UNRESOLVED = "copies of conflicting files are left"
_SUFFIXES = """
    .bib .cfg .conf .css .csv .html .ics .ini .jpeg .jpg .json .jsonl .log .md .pdf .png .rst .svg
    .tex .toml .tsv .txt .xml .yaml .yml
"""
_DOCUMENTS = tuple(_SUFFIXES.split())

State = Mapping[str, Any]


def runs_that_count(state: State) -> list[Run]:
    """The runs of this revision that are evidence (`agents.counting`); where it made none, those of
    the whole job. Where the job has written no code, there may be nothing to run: what shows its
    documents, or computes in a command line, counts where nothing else was run."""
    runs = state.get("runs", [])
    ran = [run for run in runs if is_evidence(run, state)]
    if not ran and all(map(only_looked, runs)):
        ran = runs if _only_documents(state) else _computed(state)
    return [run for run in ran if run["revision"] == state["revision"]] or ran


def is_evidence(run: Run, state: State) -> bool:
    """Whether a run is one of the job's code, or has made its files: what the rules go by alone.
    Where the job's checks have tried the code, any program that was run may be the rest."""
    if report_of(state) is not None:
        return not only_looked(run)
    return counts(run, state.get("artifacts", {}), state["job"].get("files", ()))


def _computed(state: State) -> list[Run]:
    made = state.get("artifacts", {})
    return [] if any(map(is_source, made)) else [*filter(computes, state.get("runs", []))]


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
        return unseen(state)
    good = [run for run in counting if run["succeeded"]]
    if not good:
        return NO_SUCCESS
    if not any(is_final(run, state) for run in good):
        return CHANGED
    if copies := unresolved(state):
        return f"{UNRESOLVED}: {', '.join(copies)}"
    return unpassed(state)


def unseen(state: State) -> str:
    """Why its runs are no evidence: they have only looked, or something else was run, or run so
    that nobody can tell how it went."""
    return ONLY_LOOKED if all(map(only_looked, state.get("runs", []))) else NO_END


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
