"""The result of a job, from the outcome of its graph. Pure.

See ADR 40.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agents.graph.outcome import Outcome, read_outcome
from jobs.model.events import Event, events_since_restart
from jobs.model.record import Result
from jobs.model.spec import JobSpec, OnExhausted
from jobs.view.work import list_artifacts


def result_of(outcome: Outcome) -> Result:
    """The result that clients get, approved or not."""
    return Result(
        answer=outcome.answer,
        approved_by=outcome.approved_by,
        artifacts=tuple(outcome.artifacts),
        override=outcome.override,
        checks=outcome.checks,
        verification=outcome.verification,
    )


def failure_reason(spec: JobSpec, outcome: Outcome) -> str | None:
    """The reason that the job fails; None if it succeeds. A job succeeds if it was approved, or if
    its spec accepts unapproved results and its acceptance checks pass."""
    if outcome.approved:
        return None
    checks = _checks_problem(spec, outcome.checks)
    if spec.on_exhausted is OnExhausted.ACCEPT and checks is None:
        return None
    reason = f"not approved: {outcome.ends}" if outcome.ends else _used_up(spec)
    problem = (outcome.verification or {}).get("problem")
    return "; ".join(part for part in (reason, checks, problem) if part)


def _used_up(spec: JobSpec) -> str:
    count = spec.max_revisions if spec.repair else 1
    return f"not approved within {count} revision{'' if count == 1 else 's'}"


def _checks_problem(spec: JobSpec, report: Mapping[str, Any] | None) -> str | None:
    """The problem of the acceptance checks; None if they pass, or if the job has no checks (also if
    its tester wrote no test)."""
    if report is None:
        return None if spec.checks is None else "its acceptance checks have not run"
    if report["passed"]:
        return None
    tests = report["tests"]
    passed = sum(test["outcome"] == "passed" for test in tests)
    return f"its acceptance checks do not pass ({passed} of {len(tests)} tests do)"


def best_result(
    state: Mapping[str, Any], events: Sequence[Event], paths: Collection[str] | None = None
) -> Result | None:
    """The result so far; None if there is no answer and no file. Pure.

    A pass of the executor saves no checkpoints: the runs and files of an interrupted pass are only
    in the events. If no pass has given an answer, the code of the last successful run is the
    answer, with its artifacts that still exist among the `paths` (None: all artifacts).
    """
    runs = [event.data for event in events_since_restart(events) if event.kind == "run_finished"]
    so_far = read_outcome({**state, "runs": runs or state.get("runs", [])})
    artifacts = {artifact["name"]: artifact for artifact in so_far.artifacts}
    if not state.get("answers"):
        from_events = list_artifacts(events)
        names = [name for name in from_events if paths is None or name in paths]
        artifacts |= {name: from_events[name] for name in names}
    answer = so_far.answer or _code(runs)
    if not answer and not artifacts:
        return None
    return replace(result_of(so_far), answer=answer, artifacts=tuple(artifacts.values()))


def _code(runs: Sequence[Mapping[str, Any]]) -> str:
    """The code of the last successful run, as an answer; '' if no run succeeded."""
    code = next((run["code"]["text"] for run in reversed(runs) if run["succeeded"]), None)
    if code is None:
        return ""
    return f"The last program that ran to its end:\n\n```python\n{code}\n```"
