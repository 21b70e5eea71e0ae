"""The change of a job that a follow-up or a rebase starts from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.jobs.job_examples import RESULT, queued

from jobs.model.record import Continuation, JobRecord, PatchRef, Push, Status
from jobs.model.spec import EarlierChange, Repo
from jobs.transitions.lifecycle import Refusal
from jobs.transitions.rebase import rebase_as_new_job
from jobs.view.change import change_to_continue

URL = "https://git.example.org/app"
FIRST, HEAD, MAIN = "1" * 40, "2" * 40, "3" * 40
EARLIER = EarlierChange("j0", "0" * 64, FIRST, branch="fettle/j0")
ON_BRANCH = Continuation(EARLIER, "w" * 64, MAIN, FIRST, branch="fettle/j0")
ON_MAIN = Continuation(EARLIER, "w" * 64, MAIN, MAIN, merged=True)


def ended(
    base: str = FIRST,
    *,
    start: Continuation | None = None,
    delivery: Push | None = None,
    repo: Repo | None = None,
) -> JobRecord:
    patch = PatchRef("a" * 64, 1, 1, 1, 1, base)
    result = replace(RESULT, patch=patch, bundle="b" * 64, delivery=delivery)
    record = replace(queued("j1", repo=repo or Repo(URL, "main")), continues=start)
    return replace(record, status=Status.SUCCEEDED, result=result)


def test_the_branch_of_a_change_is_its_delivery_or_the_branch_that_the_job_continued():
    change = EarlierChange("j1", "b" * 64, FIRST)
    assert change_to_continue(ended()) == change
    pushed = Push("fettle/j1", "c" * 40)
    assert change_to_continue(ended(delivery=pushed)) == replace(change, branch="fettle/j1")
    undelivered = change_to_continue(ended(HEAD, start=ON_BRANCH, delivery=Push(note="unapproved")))
    assert undelivered == replace(change, base=HEAD, branch="fettle/j0", root=FIRST)
    assert undelivered.work_base == FIRST
    merged = change_to_continue(ended(MAIN, start=ON_MAIN, delivery=pushed))
    assert merged == replace(change, base=MAIN, branch="fettle/j1", root=MAIN)
    uploaded = change_to_continue(ended(repo=Repo(bundle="u" * 64)))
    assert uploaded == replace(change, upload="u" * 64)


def test_a_job_without_a_change_leaves_the_earlier_change():
    unchanged = replace(ended(start=ON_BRANCH), result=RESULT)
    assert change_to_continue(unchanged) == EARLIER
    assert change_to_continue(replace(ended(), result=RESULT)) is None
    assert change_to_continue(queued(repo=Repo(URL))) is None
    refusal = rebase_as_new_job(unchanged, "j2", 5, by="ann")
    assert isinstance(refusal, Refusal)
    assert refusal.code == "no_change"


def test_a_job_that_undid_a_merged_change_leaves_no_change():
    undone = replace(ended(start=ON_MAIN), result=RESULT)
    assert change_to_continue(undone) is None
    on_head = replace(ON_BRANCH, merged=True)
    assert change_to_continue(replace(ended(start=on_head), result=RESULT)) == EARLIER


def test_a_rebase_of_a_fork_is_no_fork():
    parent = ended()
    fork = replace(parent, spec=replace(parent.spec, fork_of="j0"))
    change = rebase_as_new_job(fork, "j2", 5, by="ann")
    assert not isinstance(change, Refusal)
    assert change.after.spec.fork_of is None


@pytest.mark.parametrize(("start", "branch"), [(None, None), (ON_BRANCH, "fettle/j0")])
def test_a_rebase_continues_only_a_branch_that_its_parent_continued(start, branch):
    delivery = Push("fettle/j0" if start else "fettle/j1", "c" * 40, base="dev")
    change = rebase_as_new_job(ended(start=start, delivery=delivery), "j2", 5, by="ann")
    assert not isinstance(change, Refusal)
    spec = change.after.spec
    assert (spec.repo, spec.rebase and spec.rebase.branch) == (Repo(URL, "dev"), branch)
    assert change.after.continues is None
