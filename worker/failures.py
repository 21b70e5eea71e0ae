"""What an exception means for a job, and for this process.

`classify_failure` decides about the job. A process that has no memory or threads left, or whose
event loop hangs, ends at once: the thread that renews leases may be gone, or an answer half read.
Its jobs return to the queue when their leases expire, so that the rule for crashes finds the cause
(J7): jobs that merely shared the process run again, and a job that crashes alone is poisoned.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from langgraph.errors import GraphDrained

from agents.errors import BudgetExhausted, ModelError, ModelUnavailable, StateUnreadable, Stopped
from jobs.blobs.directory import describe_os_error
from jobs.errors import (
    BlobMissing,
    BlobsUnavailable,
    Contended,
    StaleEpoch,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
)
from jobs.model.record import Reason, Wait
from sandbox.protocol import SandboxUnavailable
from worker.adapters.sandbox import ImageRefused
from worker.repositories.errors import (
    DeliveryRefused,
    RepositoryDiskFails,
    RepositoryRefused,
    RepositoryUnavailable,
    SetupFailed,
    SetupUnavailable,
)

EXIT_CODE = 70
"""EX_SOFTWARE of sysexits.h."""
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
        case StoreRefused(cause=why):
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
        case OSError() if cause := describe_os_error(error):
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


def exhausted(error: BaseException | None) -> bool:
    """Whether an error is caused by lack of memory or threads, however a library wraps it."""
    return any(map(_is_want, _chain(error)))


def abort_process(error: BaseException) -> NoReturn:
    """End this process now; its sandboxes end with it."""
    traceback.print_exception(error, file=sys.stderr)  # logging may need more memory
    os.write(2, b'{"event": "worker collapsed", "logger": "worker", "level": "critical"}\n')
    os._exit(EXIT_CODE)


def abort_if_exhausted(loop: Any, context: dict[str, Any]) -> None:
    """An event loop's exception handler: as the loop's own, but for such an error."""
    if exhausted(error := context.get("exception")):
        abort_process(error or MemoryError())
    loop.default_exception_handler(context)


def _is_want(error: BaseException) -> bool:
    if isinstance(error, RuntimeError):
        return "can't start new thread" in str(error)
    return isinstance(error, MemoryError)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, what caused it, and so on; and those of a group."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions
