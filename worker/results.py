"""The result of a job, from the outcome of its graph. Pure.

Why: docs/decisions/0040-approved-or-failed.md
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agents.graph.outcome import Outcome, outcome
from jobs.model.events import Event, events_since_restart
from jobs.model.record import Result
from jobs.model.spec import JobSpec, OnExhausted
from jobs.view.work import list_artifacts


def result_of(ended: Outcome) -> Result:
    """What is handed back, approved or not."""
    return Result(
        answer=ended.answer,
        approved_by=ended.approved_by,
        artifacts=tuple(ended.artifacts),
        override=ended.override,
        checks=ended.checks,
        verification=ended.verification,
    )


def why_unapproved(spec: JobSpec, ended: Outcome) -> str | None:
    """Why the job fails; None where it succeeds: it was approved, or is accepted as it is because
    the spec says so, which never holds while its acceptance checks fail."""
    if ended.approved:
        return None
    checks = _checks_problem(spec, ended.checks)
    if spec.on_exhausted is OnExhausted.ACCEPT and checks is None:
        return None
    why = f"not approved: {ended.ends}" if ended.ends else _used_up(spec)
    problem = (ended.verification or {}).get("problem")
    return "; ".join(part for part in (why, checks, problem) if part)


def _used_up(spec: JobSpec) -> str:
    count = spec.max_revisions if spec.repair else 1
    return f"not approved within {count} revision{'' if count == 1 else 's'}"


def _checks_problem(spec: JobSpec, report: Mapping[str, Any] | None) -> str | None:
    """Why the acceptance checks do not speak for the work; None where they do, or there are none
    (a tester that has written no test leaves none)."""
    if report is None:
        return None if spec.checks is None else "its acceptance checks have not run"
    if report["passed"]:
        return None
    tests = report["tests"]
    passed = sum(test["outcome"] == "passed" for test in tests)
    return f"its acceptance checks do not pass ({passed} of {len(tests)} tests do)"


def best(
    values: Mapping[str, Any], events: Sequence[Event], there: Collection[str] | None = None
) -> Result | None:
    """The result so far, or None where nothing was made. Pure.

    A pass of the executor keeps no checkpoints: an interrupted one has left its runs and files in
    the events alone. Where no pass has given an answer yet, the code of the last successful run is
    the answer, with the files that were made and are still `there` (None: all).
    """
    runs = [event.data for event in events_since_restart(events) if event.kind == "run_finished"]
    ended = outcome({**values, "runs": runs or values.get("runs", [])})
    artifacts = {each["name"]: each for each in ended.artifacts}
    if not values.get("answers"):
        made = list_artifacts(events)
        artifacts |= {name: made[name] for name in made if there is None or name in there}
    answer = ended.answer or _code(runs)
    if not answer and not artifacts:
        return None
    return replace(result_of(ended), answer=answer, artifacts=tuple(artifacts.values()))


def _code(runs: Sequence[Mapping[str, Any]]) -> str:
    good = (run["code"]["text"] for run in reversed(runs) if run["succeeded"])
    code = next(good, None)
    return (
        "" if code is None else f"The last program that ran to its end:\n\n```python\n{code}\n```"
    )
