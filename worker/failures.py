"""The consequences of an exception for a job, and for this process.

`classify_failure` decides about the job. If a process has no memory or threads left, or its event
loop hangs, the process ends at once: the thread that renews leases may have died, or a reply may be
read in part. Its jobs return to the queue when their leases expire, so that the rule for crashes
finds the cause (J7): jobs that shared the process run again, and a job that crashes when it runs
alone is poisoned.
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
from jobs.model.record import Reason, Result, Wait
from sandbox.protocol import SandboxUnavailable
from worker.adapters.sandbox import ImageRefused
from worker.repositories.errors import (
    DeliveryRefused,
    DeliveryUnavailable,
    RepositoryDiskFails,
    RepositoryRefused,
    RepositoryUnavailable,
    SetupFailed,
    SetupUnavailable,
)

EXIT_CODE = 70
"""EX_SOFTWARE of sysexits.h."""
UNPROVEN_RETRIES = 4
"""The retries of a job if the address of its model has never sent a reply: 75 s with the default
pauses. The address may be wrong, or its server may be starting (ADR 77)."""
STORAGE = "storage"
"""The name of the part that a job waits for if its bytes cannot be stored or read."""


@dataclass(frozen=True, slots=True)
class Requeue:
    """The worker drains: another worker continues from the checkpoint."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Write no more: the job belongs to another worker."""

    reason: str


@dataclass(frozen=True, slots=True)
class WaitForStore:
    """Redis accepts no writes: release the job as soon as it does."""

    reason: str


@dataclass(frozen=True, slots=True)
class Retry:
    """The infrastructure failed: retry later, a limited number of times."""

    reason: Reason
    wait: Wait
    requested_seconds: float = 0.0
    """The pause that a provider or a forge requested."""
    most_retries: int | None = None
    """A limit below FETTLE_RETRIES."""
    result: Result | None = None
    """The job's result so far, if its graph has ended."""


@dataclass(frozen=True, slots=True)
class AskUpgrade:
    """The job's stored state cannot be read: a person decides about the job."""

    location: str
    """The part of the state, for example a checkpoint."""


@dataclass(frozen=True, slots=True)
class Fail:
    """The job fails."""

    reason: Reason
    detail: str
    unforeseen: bool = False
    """Whether Fettle knows no cause of this exception: the log then has its traceback."""


def classify_failure(error: Exception) -> Requeue | Drop | WaitForStore | Retry | AskUpgrade | Fail:
    """The consequence of an exception for the job. A failure of the infrastructure is never a
    failure of the job's code.

    Tenants read the texts: they have no path of the deployment and no credential. Their only
    address is the address of a model's server, which may be wrong.
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
        case SandboxUnavailable():
            return Retry(Reason.SANDBOX_UNAVAILABLE, Wait("the sandbox", str(error)))
        case (
            ModelUnavailable()
            | DeliveryUnavailable()
            | RepositoryUnavailable()
            | SetupUnavailable()
        ):
            return _outage(error)
        case _:
            return _failure(error)


def store_failure(error: Exception) -> str:
    """The reason that the job record accepts no writes, for tenants: without its address."""
    match error:
        case StoreFull():
            return "the job record is full"
        case StoreRefused(cause=cause):
            return f"the job record accepts no writes: {cause}"
        case Contended():
            return "the job kept changing"
        case _:
            return "the job record did not answer"


def _storage(error: Exception) -> Retry:
    """The retry after a failure of the storage. Missing bytes may be on a share that is not
    mounted, so the job is tried again. An OSError without a disk as its cause is a failure of the
    worker's machine (processes, open files)."""
    match error:
        case BlobsUnavailable():
            return Retry(Reason.STORAGE, Wait(STORAGE, f"the artifact store fails: {error.reason}"))
        case BlobMissing():
            detail = "bytes of the job are missing or damaged in the artifact store"
            return Retry(Reason.STORAGE, Wait(STORAGE, detail))
        case RepositoryDiskFails():
            return Retry(Reason.STORAGE, Wait(STORAGE, str(error)))
        case OSError() if cause := describe_os_error(error):
            return Retry(Reason.STORAGE, Wait(STORAGE, f"a disk of the worker fails: {cause}"))
        case _:
            detail = f"{type(error).__name__}: {getattr(error, 'strerror', None) or 'no details'}"
            return Retry(Reason.INTERNAL, Wait("the worker's machine", detail))


def _outage(
    error: ModelUnavailable | DeliveryUnavailable | RepositoryUnavailable | SetupUnavailable,
) -> Retry:
    """The retry after another machine did not answer."""
    match error:
        case ModelUnavailable():
            providers = " or ".join(error.providers) or "the model"
            seconds = error.retry_after_seconds or 0.0
            limit = UNPROVEN_RETRIES if error.unproven else None
            return Retry(Reason.MODEL_UNAVAILABLE, Wait(providers, str(error)), seconds, limit)
        case DeliveryUnavailable():
            wait = Wait("the repository", str(error))
            return Retry(Reason.DELIVERY, wait, error.requested_seconds, result=error.result)
        case RepositoryUnavailable():
            return Retry(Reason.REPOSITORY, Wait("the repository", str(error)))
        case SetupUnavailable():
            return Retry(Reason.SETUP, Wait("the package index", str(error)))


def _failure(error: Exception) -> Fail:
    """The end of a job, for an exception that another try would not change."""
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
            detail = f"{type(error).__name__}: {error}"
            return Fail(Reason.INTERNAL, detail, unforeseen=True)


def is_exhausted(error: BaseException | None) -> bool:
    """Whether a lack of memory or threads caused the error, also if a library has wrapped it."""
    return any(map(_is_lack_of_memory_or_threads, _causes(error)))


def abort_process(error: BaseException) -> NoReturn:
    """End this process now; its sandboxes end with it."""
    traceback.print_exception(error, file=sys.stderr)  # logging may need more memory
    os.write(2, b'{"event": "worker collapsed", "logger": "worker", "level": "critical"}\n')
    os._exit(EXIT_CODE)


def abort_if_exhausted(loop: Any, context: dict[str, Any]) -> None:
    """An exception handler for an event loop: end the process if `is_exhausted`, else call the
    default handler."""
    if is_exhausted(error := context.get("exception")):
        abort_process(error or MemoryError())
    loop.default_exception_handler(context)


def _is_lack_of_memory_or_threads(error: BaseException) -> bool:
    if isinstance(error, RuntimeError):
        return "can't start new thread" in str(error)
    return isinstance(error, MemoryError)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, its causes and their causes, and the members of groups among them."""
    visited: set[int] = set()
    stack = [error]
    while stack:
        cause = stack.pop()
        if cause is None or id(cause) in visited:
            continue
        visited.add(id(cause))
        yield cause
        stack += [cause.__cause__, cause.__context__]
        if isinstance(cause, BaseExceptionGroup):
            stack += cause.exceptions
