"""What becomes of a job whose attempt ended or raised: pure decisions.

Why: docs/decisions/0040-approved-or-failed.md
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langgraph.errors import GraphDrained

from agents.errors import BudgetExhausted, ModelError, ModelUnavailable, StateUnreadable, Stopped
from agents.graph.outcome import Outcome, outcome
from jobs.blobs.directory import cause_of
from jobs.errors import (
    BlobMissing,
    BlobsUnavailable,
    Contended,
    StaleEpoch,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
)
from jobs.model.events import Event, current
from jobs.model.record import Reason, Result, Wait
from jobs.model.spec import JobSpec, OnExhausted
from jobs.view.work import list_artifacts
from sandbox.protocol import SandboxUnavailable
from worker.adapters.sandbox import ImageRefused
from worker.delivery.errors import DeliveryRefused
from worker.repositories.errors import (
    RepositoryDiskFails,
    RepositoryRefused,
    RepositoryUnavailable,
    SetupFailed,
    SetupUnavailable,
)

UNPROVEN_RETRIES = 4
"""Retries of a job whose model's address has sent no reply so far: 75 s with the default rests. The
address may be wrong, or its server may be starting (ADR 77)."""
STORAGE = "storage"
"""A job waits for this if its bytes cannot be stored or read."""


@dataclass(frozen=True, slots=True)
class Requeue:
    """The worker stops in good order: another goes on from the checkpoint."""


@dataclass(frozen=True, slots=True)
class Drop:
    """No more writes: the job belongs to another worker."""

    why: str


@dataclass(frozen=True, slots=True)
class WaitForStore:
    """Redis accepts no writes: release the job as soon as it does. `why` is for the log."""

    why: str


@dataclass(frozen=True, slots=True)
class Retry:
    """Infrastructure trouble: retry later, a bounded number of times, and not before the time that
    a provider asked for."""

    reason: Reason
    wait: Wait
    asked_seconds: float = 0.0
    most_retries: int | None = None
    """A bound below FETTLE_RETRIES."""


@dataclass(frozen=True, slots=True)
class AskUpgrade:
    """The job's stored state cannot be read: a person decides about the job."""

    place: str


@dataclass(frozen=True, slots=True)
class Fail:
    """The job ends."""

    reason: Reason
    detail: str
    unforeseen: bool = False


def classify_failure(error: Exception) -> Requeue | Drop | WaitForStore | Retry | AskUpgrade | Fail:
    """What an exception of the graph means. Infrastructure trouble is never the code's failure.

    A tenant reads the texts: they have no path of the deployment, and no address except that of a
    model's server that may be wrong, without credentials.
    """
    match error:
        case GraphDrained():
            return Requeue()
        case StaleEpoch() | Stopped():
            return Drop("the job is no longer this attempt's")
        case BlobsUnavailable() | BlobMissing() | RepositoryDiskFails() | OSError():
            return _storage(error)
        case StoreUnavailable() | Contended():
            return WaitForStore(str(error))
        case StateUnreadable():
            return AskUpgrade(str(error))
        case ModelUnavailable():
            on = " or ".join(error.providers) or "the model"
            asked = error.retry_after_seconds or 0.0
            most = UNPROVEN_RETRIES if error.unproven else None
            return Retry(Reason.MODEL_UNAVAILABLE, Wait(on, str(error)), asked, most)
        case SandboxUnavailable():
            return Retry(Reason.SANDBOX_UNAVAILABLE, Wait("the sandbox", str(error)))
        case RepositoryUnavailable():
            return Retry(Reason.REPOSITORY, Wait("the repository", str(error)))
        case SetupUnavailable():
            return Retry(Reason.SETUP, Wait("the package index", str(error)))
        case _:
            return _failure(error)


def store_trouble(error: Exception) -> str:
    """Why the job record takes no write, for tenants: without its address."""
    match error:
        case StoreFull():
            return "the job record is full"
        case StoreRefused(why=why):
            return f"the job record takes no writes: {why}"
        case Contended():
            return "the job kept changing"
        case _:
            return "the job record did not answer"


def _storage(error: Exception) -> Retry:
    """The next try after a fault of storage. Missing bytes may be on a share that is not mounted,
    so the job tries again, too. An OSError that no disk causes is a fault of the worker's machine
    (processes, open files)."""
    match error:
        case BlobsUnavailable():
            return Retry(Reason.STORAGE, Wait(STORAGE, f"the artifact store fails: {error.reason}"))
        case BlobMissing():
            lost = "bytes of the job are missing or damaged in the artifact store"
            return Retry(Reason.STORAGE, Wait(STORAGE, lost))
        case RepositoryDiskFails():
            return Retry(Reason.STORAGE, Wait(STORAGE, str(error)))
        case OSError() if cause := cause_of(error):
            return Retry(Reason.STORAGE, Wait(STORAGE, f"a disk of the worker fails: {cause}"))
        case _:
            detail = f"{type(error).__name__}: {getattr(error, 'strerror', None) or 'no details'}"
            return Retry(Reason.INTERNAL, Wait("the worker's machine", detail))


def _failure(error: Exception) -> Fail:
    """The end of a job that no later try would change."""
    match error:
        case BudgetExhausted():
            return Fail(Reason.BUDGET_EXHAUSTED, str(error))
        case ModelError():
            return Fail(Reason.MODEL_UNAVAILABLE, str(error))
        case DeliveryRefused():
            return Fail(Reason.DELIVERY, str(error))
        case RepositoryRefused():
            return Fail(Reason.REPOSITORY, str(error))
        case ImageRefused():
            return Fail(Reason.SANDBOX_UNAVAILABLE, str(error))
        case SetupFailed():
            return Fail(Reason.SETUP, str(error))
        case _:
            return Fail(Reason.INTERNAL, _named(error), unforeseen=True)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


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
    runs = [event.data for event in current(events) if event.kind == "run_finished"]
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
