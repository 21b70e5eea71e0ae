"""Whether an heir takes up its parent's finished graph, and how."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langgraph.types import PregelTask, StateSnapshot
from support.jobs.job_examples import queued

from jobs.model.record import JobRecord
from worker.resumption import reopened, reopens

ENDED = {"job": {"task": "t", "max_revisions": 3}, "approved_by": None, "exhausted": True}
HEIR = replace(queued("heir"), inherits="parent")


def snapshot(values: dict[str, Any], *following: str) -> StateSnapshot:
    tasks = tuple(PregelTask(name, name, ()) for name in following)
    return StateSnapshot(values, following, {}, None, None, None, tasks, ())


def test_an_end_without_an_approval_is_taken_up() -> None:
    assert reopens(HEIR, snapshot(ENDED))


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (queued("j1"), snapshot(ENDED)),
        (HEIR, snapshot({})),
        (HEIR, snapshot(ENDED, "executor")),
        (HEIR, snapshot({**ENDED, "approved_by": "critic"})),
    ],
    ids=["its-own", "nothing", "under-way", "approved"],
)
def test_nothing_else_is(record: JobRecord, found: StateSnapshot) -> None:
    assert not reopens(record, found)


def test_it_is_done_once_and_again_for_the_heirs_heir() -> None:
    critiques = [{"revision": number} for number in (1, 2, 3)]
    changed = {**ENDED, **reopened(HEIR, {**ENDED, "critiques": critiques})}
    assert not changed["exhausted"]
    assert changed["job"]["max_revisions"] == 6
    own_end = snapshot({**changed, "exhausted": True})
    assert not reopens(HEIR, own_end)
    assert reopens(replace(HEIR, id="third", inherits="heir"), own_end)


def test_a_job_without_repair_gets_one_more_revision() -> None:
    record = replace(HEIR, spec=replace(HEIR.spec, repair=False))
    changed = reopened(record, {**ENDED, "critiques": [{"revision": 1}]})
    assert changed["job"]["max_revisions"] == 2
