"""What becomes of a job whose attempt raised: a pure decision."""

from __future__ import annotations

from dataclasses import dataclass

from langgraph.errors import GraphDrained

from agents.errors import BudgetExhausted, Stopped
from agents.models.errors import ModelError, ModelUnavailable
from jobs.errors import BlobsUnavailable, Contended, StaleEpoch, StoreUnavailable
from jobs.record import Reason
from sandbox.protocol import SandboxUnavailable
from worker.checkpoints.errors import CheckpointUnreadable


@dataclass(frozen=True, slots=True)
class GiveBack:
    """The worker stops in good order: another goes on from the checkpoint."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Nothing may be said any more: the job is another's."""

    why: str


@dataclass(frozen=True, slots=True)
class HandBack:
    """Redis does not listen: let go of the job as soon as it does."""

    why: str


@dataclass(frozen=True, slots=True)
class Retry:
    """Infrastructure trouble: later again, a bounded number of times."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Park:
    """The job's checkpoints cannot be decoded: a person says what becomes of it."""

    place: str


@dataclass(frozen=True, slots=True)
class Fail:
    """The job ends."""

    reason: Reason
    detail: str
    unforeseen: bool = False


def fate(error: Exception) -> GiveBack | Drop | HandBack | Retry | Park | Fail:
    """What an exception out of the graph means. Trouble of ours is never the code's failure."""
    match error:
        case GraphDrained():
            return GiveBack()
        case StaleEpoch() | Stopped():
            return Drop("the job is no longer this attempt's")
        case BlobsUnavailable() | OSError():  # a full disk, most likely, or a share that is away
            said = str(error) if isinstance(error, BlobsUnavailable) else _named(error)
            return Retry(Reason.INTERNAL, said)
        case StoreUnavailable() | Contended():
            return HandBack(str(error))
        case CheckpointUnreadable():
            return Park(str(error))
        case BudgetExhausted():
            return Fail(Reason.BUDGET_EXHAUSTED, str(error))
        case ModelUnavailable():
            return Retry(Reason.MODEL_UNAVAILABLE, str(error))
        case ModelError():
            return Fail(Reason.MODEL_UNAVAILABLE, str(error))
        case SandboxUnavailable():
            return Retry(Reason.SANDBOX_UNAVAILABLE, str(error))
        case _:
            return Fail(Reason.INTERNAL, _named(error), unforeseen=True)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
