from __future__ import annotations

import pytest
from langgraph.errors import GraphDrained

from agents.errors import BudgetExhausted, Stopped
from agents.models.errors import ModelNotConfigured, ModelRefused, ModelUnavailable
from jobs.errors import BlobsUnavailable, Contended, StaleEpoch, StoreUnavailable
from jobs.model.record import Reason
from sandbox.protocol import SandboxUnavailable
from worker.checkpoints.errors import CheckpointUnreadable
from worker.outcome import AskUpgrade, Drop, Fail, Requeue, Retry, WaitForStore, classify_failure


@pytest.mark.parametrize(
    ("error", "meant"),
    [
        (GraphDrained("shutdown"), Requeue()),
        (Stopped("cancelled"), Drop("the job is no longer this attempt's")),
        (StaleEpoch("j", 3), Drop("the job is no longer this attempt's")),
        (StoreUnavailable("away"), WaitForStore("away")),
        (Contended("moving"), WaitForStore("moving")),
        (BlobsUnavailable("no bucket"), Retry(Reason.INTERNAL, "no bucket")),
        (OSError(28, "disk full"), Retry(Reason.INTERNAL, "OSError: [Errno 28] disk full")),
        (CheckpointUnreadable("checkpoint 1"), AskUpgrade("checkpoint 1")),
        (BudgetExhausted("spent"), Fail(Reason.BUDGET_EXHAUSTED, "spent")),
        (ModelUnavailable("503"), Retry(Reason.MODEL_UNAVAILABLE, "503")),
        (ModelRefused("401"), Fail(Reason.MODEL_UNAVAILABLE, "401")),
        (ModelNotConfigured("no key"), Fail(Reason.MODEL_UNAVAILABLE, "no key")),
        (SandboxUnavailable("no bwrap"), Retry(Reason.SANDBOX_UNAVAILABLE, "no bwrap")),
        (KeyError("x"), Fail(Reason.INTERNAL, "KeyError: 'x'", unforeseen=True)),
    ],
)
def test_an_exception_decides_what_becomes_of_the_job(error: Exception, meant: object) -> None:
    assert classify_failure(error) == meant
