"""The consequences of an attempt's end for its job: status, reason, result."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Any

import pytest
from langgraph.errors import GraphDrained

from agents.errors import (
    BudgetExhausted,
    ModelNotConfigured,
    ModelRefused,
    ModelUnavailable,
    StateUnreadable,
    Stopped,
)
from agents.graph.outcome import Outcome
from jobs.errors import BlobMissing, BlobsUnavailable, StaleEpoch, StoreUnavailable
from jobs.model.events import Event
from jobs.model.record import Reason, Wait
from jobs.model.spec import CheckSpec, JobSpec, OnExhausted
from sandbox.protocol import SandboxUnavailable
from worker.failures import (
    UNPROVEN_RETRIES,
    AskUpgrade,
    Drop,
    Fail,
    Requeue,
    Retry,
    WaitForStore,
    classify_failure,
)
from worker.repositories.errors import (
    DeliveryUnavailable,
    RepositoryDiskFails,
    RepositoryRefused,
    RepositoryUnavailable,
    SetupFailed,
    SetupUnavailable,
)
from worker.results import best_result, failure_reason, result_of

ENDED = Outcome(
    approved=False,
    answer="this is all",
    approved_by=None,
    override=False,
    artifacts=(),
    summary="Not approved.",
    exhausted=True,
)
ACCEPT = JobSpec("t", on_exhausted=OnExhausted.ACCEPT)
CHECKED = replace(ACCEPT, checks=CheckSpec("m", ("test_it.py",)))
PASSED = {"passed": True, "tests": [{"outcome": "passed"}]}
FAILED = {"passed": False, "tests": [{"outcome": "passed"}, {"outcome": "failed"}]}
REPORT = "its acceptance checks do not pass (1 of 2 tests do)"


def test_approved_work_succeeds_with_every_setting() -> None:
    approved = replace(ENDED, approved=True, approved_by="ann", checks=FAILED)
    assert failure_reason(JobSpec("t"), approved) is None
    assert result_of(approved).approved_by == "ann"


@pytest.mark.parametrize("outcome", [ENDED, replace(ENDED, exhausted=False)])
def test_unapproved_work_fails_by_default(outcome: Outcome) -> None:
    assert failure_reason(JobSpec("t"), outcome) == "not approved within 3 revisions"
    assert failure_reason(JobSpec("t", repair=False), outcome) == "not approved within 1 revision"


@pytest.mark.parametrize(
    ("spec", "report", "reason"),
    [
        (ACCEPT, None, None),
        (CHECKED, PASSED, None),
        (CHECKED, FAILED, REPORT),
        (CHECKED, None, "its acceptance checks have not run"),
        (replace(ACCEPT, write_tests=True), FAILED, REPORT),
    ],
)
def test_accept_has_no_effect_if_a_check_fails(
    spec: JobSpec, report: dict[str, Any] | None, reason: str | None
) -> None:
    problem = failure_reason(spec, replace(ENDED, checks=report))
    assert problem == (reason and f"not approved within 3 revisions; {reason}")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (GraphDrained("shutdown"), Requeue()),
        (Stopped("cancelled"), Drop("the job is no longer this attempt's")),
        (StaleEpoch("j", 3), Drop("the job is no longer this attempt's")),
        (StoreUnavailable("away"), WaitForStore("away")),
        (
            BlobsUnavailable("http://10.0.0.7 is away", "it does not answer"),
            Retry(Reason.STORAGE, Wait("storage", "the artifact store fails: it does not answer")),
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "/srv/fettle/x"),
            Retry(Reason.STORAGE, Wait("storage", "a disk of the worker fails: it is full")),
        ),
        (
            RepositoryDiskFails("the disk is full"),
            Retry(Reason.STORAGE, Wait("storage", "the disk is full")),
        ),
        (
            BlobMissing("0" * 64),
            Retry(
                Reason.STORAGE,
                Wait("storage", "bytes of the job are missing or damaged in the artifact store"),
            ),
        ),
        (
            OSError(errno.EMFILE, "Too many open files", "/srv/fettle/x"),
            Retry(Reason.INTERNAL, Wait("the worker's machine", "OSError: Too many open files")),
        ),
        (StateUnreadable("checkpoint 1"), AskUpgrade("checkpoint 1")),
        (BudgetExhausted("spent"), Fail(Reason.BUDGET_EXHAUSTED, "spent")),
        (
            ModelUnavailable("429", retry_after_seconds=90, providers=("groq", "openai")),
            Retry(Reason.MODEL_UNAVAILABLE, Wait("groq or openai", "429"), 90),
        ),
        (
            ModelUnavailable("no server", providers=("compatible",), unproven=True),
            Retry(
                Reason.MODEL_UNAVAILABLE,
                Wait("compatible", "no server"),
                most_retries=UNPROVEN_RETRIES,
            ),
        ),
        (ModelRefused("401"), Fail(Reason.MODEL_UNAVAILABLE, "401")),
        (ModelNotConfigured("no key"), Fail(Reason.MODEL_UNAVAILABLE, "no key")),
        (
            SandboxUnavailable("no bwrap"),
            Retry(Reason.SANDBOX_UNAVAILABLE, Wait("the sandbox", "no bwrap")),
        ),
        (
            RepositoryUnavailable("timed out"),
            Retry(Reason.REPOSITORY, Wait("the repository", "timed out")),
        ),
        (
            DeliveryUnavailable("503", requested_seconds=9),
            Retry(Reason.DELIVERY, Wait("the repository", "503"), 9),
        ),
        (RepositoryRefused("no branch 'x'"), Fail(Reason.REPOSITORY, "no branch 'x'")),
        (SetupUnavailable("away"), Retry(Reason.SETUP, Wait("the package index", "away"))),
        (SetupFailed("exit code 1", "x"), Fail(Reason.SETUP, "exit code 1")),
        (KeyError("x"), Fail(Reason.INTERNAL, "KeyError: 'x'", unforeseen=True)),
    ],
)
def test_an_exception_determines_the_next_state_of_the_job(
    error: Exception, expected: object
) -> None:
    assert classify_failure(error) == expected


def wrote(seq: int, name: str) -> Event:
    artifact = {"name": name, "digest": f"d{seq}", "size": 1, "media_type": "text/x-python"}
    return Event(seq, seq, "tool_used", {"tool": "write_file", "artifacts": [artifact]})


def test_a_deleted_file_is_not_in_the_result() -> None:
    written_events = [wrote(1, "kept.py"), wrote(2, "gone.py")]
    result = best_result({"job": {"task": "Add."}}, written_events, paths={"kept.py", "data.csv"})
    assert result is not None
    assert [item["name"] for item in result.artifacts] == ["kept.py"]
    everything = best_result({"job": {"task": "Add."}}, written_events)
    assert everything is not None
    assert len(everything.artifacts) == 2
