"""What a chaos run shows while it runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from cli.client.events import Event
from drills.chaos.oplog import Struck
from drills.chaos.progress import Progress


def event(kind: str, **data: Any) -> Event:
    return Event(1, datetime.now(UTC), kind, data)


def test_faults_and_ends_are_counted_and_only_kills_are_kills() -> None:
    progress = Progress(60)
    for fault in ("child-kill", "worker-kill", "redis-kill", "worker-freeze"):
        progress.struck(Struck(fault=fault, pids=(12,)))
    for kind in ("succeeded", "cancelled", "succeeded", "planned"):
        progress.heard(event(kind))
    assert progress.kills == 2
    assert progress.ended == {"succeeded": 2, "cancelled": 1}
    found = progress.line()
    assert "4 faults, 2 kills" in found
    assert "1 cancelled, 2 succeeded" in found
