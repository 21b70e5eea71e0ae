"""Follow-ups of a conversation on a repository: real workers, a git server and a forge."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.repository_job import ANSWER, FILES, TASK
from support.graph.repository_job import CHANGED as TEXTS
from support.processes.delivering import (
    CALLS,
    CHANGED,
    SHORT,
    Delivering,
    delivering,
    editing,
)

from jobs.model.spec import Deliver, Repo

FIRST = b"return year - EPOCH"
SECOND = b"return int(year) - EPOCH"
THIRD = b"return int(year) - int(EPOCH)"
SECOND_EDIT = editing(FIRST.decode(), SECOND.decode())
NEXT_EDIT = editing("EPOCH = 1970", "EPOCH: int = 1970")
MERGED = "has been merged onto this commit"


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Delivering]:
    with delivering(tmp_path) as started_forge:
        yield started_forge


def begin(forge: Delivering, **fields: object) -> tuple[str, str]:
    """(a succeeded first job, its branch)."""
    forge.worker()
    first = forge.submit(evidence="none", **fields)
    forge.job(first)
    forge.model.replies = SECOND_EDIT
    return first, f"fettle/{first}"


def history(forge: Delivering, branch: str) -> list[str]:
    return forge.bare.git("log", "--format=%H", f"main..{branch}").split()


def prompts_since(forge: Delivering, number: int) -> str:
    requests = forge.model.requests[number:]
    return "\n".join(message.text for request in requests for message in request.messages)


def test_three_jobs_and_a_person_commit_to_one_branch_with_one_request(forge: Delivering) -> None:
    first, branch = begin(forge)
    calls = len(forge.model.requests)
    second = forge.job(forge.follow_up(first, review=True), "awaiting_review")
    assert f"Task: {TASK}" in prompts_since(forge, calls)
    assert ANSWER in prompts_since(forge, calls)
    assert MERGED not in prompts_since(forge, calls)
    done = forge.approve(second["id"])
    (second_commit, first_commit) = history(forge, branch)
    assert done["result"]["patch"]["base"] == first_commit
    assert done["result"]["patch"]["files"] == 1
    delivery = done["result"]["delivery"]
    assert (delivery["branch"], delivery["commit"]) == (branch, second_commit)
    assert (delivery["base"], delivery["base_moved"], delivery["note"]) == ("main", False, "")
    theirs = forge.push(branch, {"run.sh": b"#!/bin/sh\nexit 0\n"})
    forge.model.replies = editing(SECOND.decode(), THIRD.decode())
    third = forge.job(forge.follow_up(second["id"], review=False))
    assert history(forge, branch) == [
        third["result"]["delivery"]["commit"],
        theirs,
        second_commit,
        first_commit,
    ]
    assert third["result"]["patch"]["base"] == theirs
    assert forge.file(branch, CHANGED) == FILES[CHANGED].replace(b"return abs(year - EPOCH)", THIRD)
    assert list(forge.branches()) == [branch]
    assert len(forge.forge.opened) == 1
    requests = {job["result"]["delivery"]["pull_request"] for job in (done, third)}
    assert requests == {forge.forge.opened[0]["html_url"]}
    assert len(forge.model.requests) == 3 * CALLS - 1  # a person reviewed the second job


def test_after_a_merge_a_follow_up_starts_at_the_target_with_its_own_branch(
    forge: Delivering,
) -> None:
    first, branch = begin(forge)
    squashed = forge.merge(branch)
    second = forge.job(forge.follow_up(first))
    assert second["result"]["patch"]["base"] == squashed
    assert MERGED not in prompts_since(forge, CALLS)
    own = f"fettle/{second['id']}"
    assert history(forge, own) == [second["result"]["delivery"]["commit"]]
    assert len(forge.forge.opened) == 2
    third = forge.follow_up(second["id"])
    forge.model.replies = NEXT_EDIT
    assert forge.job(third)["result"]["delivery"]["branch"] == own
    assert len(history(forge, own)) == 2


def test_an_undelivered_change_is_merged_and_delivered_together_with_the_next(
    forge: Delivering,
) -> None:
    first, _ = begin(forge, deliver=None)
    onto = forge.push("main", {"run.sh": b"#!/bin/sh\nexit 0\n"})
    second = forge.job(forge.follow_up(first, deliver=Deliver(pull_request=True)))
    assert MERGED in prompts_since(forge, CALLS)
    assert "Do not do the task anew" not in prompts_since(forge, CALLS)
    branch = f"fettle/{second['id']}"
    assert forge.bare.git("rev-parse", f"{branch}^") == onto == second["result"]["patch"]["base"]
    assert forge.file(branch, CHANGED) == TEXTS[CHANGED].replace(FIRST, SECOND)
    assert (forge.service.patch(second["id"]) or b"").count(b"\n-    return abs(year") == 1


def test_a_branch_that_moved_during_the_review_fails_the_delivery_and_a_rebase_adds_to_it(
    forge: Delivering,
) -> None:
    first, branch = begin(forge)
    (head,) = history(forge, branch)
    second = forge.follow_up(first, review=True)
    forge.job(second, "awaiting_review")
    moved = forge.push(branch, {"run.sh": b"#!/bin/sh\nexit 0\n"})
    forge.decide(second)
    job = forge.job(second, "failed")
    assert (job["reason"], history(forge, branch)) == ("delivery", [moved, head])
    assert job["result"]["approved_by"]
    assert forge.service.patch(second)
    for words in (moved, head, f"`fettle rebase {second}` merges the change onto {moved[:12]}"):
        assert words in job["detail"]
    retry = forge.job(str(forge.service.retry(second)["id"]), "failed")
    assert (retry["reason"], history(forge, branch)) == ("delivery", [moved, head])
    forge.model.replies = SHORT[1:]
    rebase = forge.approve(str(forge.service.rebase(second)["id"]))
    commit = rebase["result"]["delivery"]["commit"]
    assert history(forge, branch) == [commit, moved, head]
    assert forge.file(branch, CHANGED) == TEXTS[CHANGED].replace(FIRST, SECOND)
    assert (list(forge.branches()), len(forge.forge.opened)) == ([branch], 1)
    forge.model.replies = NEXT_EDIT
    third = forge.approve(forge.follow_up(rebase["id"]))
    assert history(forge, branch) == [third["result"]["delivery"]["commit"], commit, moved, head]


def test_a_branch_that_was_merged_and_deleted_during_the_review(forge: Delivering) -> None:
    first, branch = begin(forge)
    second = forge.follow_up(first, review=True)
    forge.job(second, "awaiting_review")
    onto = forge.merge(branch)
    forge.decide(second)
    job = forge.job(second, "failed")
    assert (job["reason"], forge.branches()) == ("delivery", {})
    assert f"no longer has the branch {branch}" in job["detail"]
    forge.model.replies = SHORT[1:]
    rebase = forge.approve(str(forge.service.rebase(second)["id"]))
    own = f"fettle/{rebase['id']}"
    assert list(forge.branches()) == [own]
    assert forge.bare.git("rev-parse", f"{own}^") == onto
    patch = forge.service.patch(rebase["id"]) or b""
    assert b"-    " + FIRST in patch.splitlines()
    assert b"abs(" not in patch


def test_a_rebase_of_a_delivered_follow_up_moves_all_changes_of_the_branch(
    forge: Delivering,
) -> None:
    first, _ = begin(forge)
    second = forge.job(forge.follow_up(first))
    before = forge.branches()
    refused = forge.job(str(forge.service.rebase(second["id"])["id"]), "failed")
    assert "there is nothing to rebase" in refused["detail"]
    onto = forge.push("main", {"run.sh": b"#!/bin/sh\nexit 0\n"})
    forge.model.replies = SHORT[1:]
    rebase = forge.job(str(forge.service.rebase(second["id"])["id"]))
    own = f"fettle/{rebase['id']}"
    assert forge.branches() == {**before, own: rebase["result"]["delivery"]["commit"]}
    assert forge.bare.git("rev-parse", f"{own}^") == onto
    assert forge.file(own, CHANGED) == TEXTS[CHANGED].replace(FIRST, SECOND)


def test_retries_deliver_to_the_branch_of_the_follow_up(forge: Delivering) -> None:
    first, branch = begin(forge)
    (head,) = history(forge, branch)
    forge.git.pushing = lambda *_: 403
    second = forge.follow_up(first)
    assert forge.job(second, "failed")["reason"] == "delivery"
    forge.git.pushing = lambda *_: None
    retry = forge.job(str(forge.service.retry(second)["id"]))
    assert history(forge, branch) == [retry["result"]["delivery"]["commit"], head]
    assert len(forge.model.requests) == 2 * CALLS


def test_a_follow_up_does_not_need_the_earlier_job_after_its_start(forge: Delivering) -> None:
    first, branch = begin(forge)
    (head,) = history(forge, branch)
    second = forge.follow_up(first, review=True)
    forge.job(second, "awaiting_review")
    forge.service.delete(first)
    forge.approve(second)
    forge.model.replies = NEXT_EDIT
    third = forge.approve(forge.follow_up(second))
    assert [third["result"]["delivery"]["commit"], head] == history(forge, branch)[::2]


def test_a_fork_of_a_follow_up_has_the_same_start_and_its_own_branch(forge: Delivering) -> None:
    first, branch = begin(forge)
    (head,) = history(forge, branch)
    second = forge.job(forge.follow_up(first))
    fork = forge.job(str(forge.service.fork(second["id"], {})["id"]))
    own = f"fettle/{fork['id']}"
    assert fork["result"]["patch"]["base"] == head
    assert history(forge, own)[1:] == [head]
    assert forge.branches()[branch] == second["result"]["delivery"]["commit"]
    forge.model.replies = SHORT
    undelivered = forge.submit(evidence="none", deliver=None)
    forge.job(undelivered)
    forge.model.replies = SECOND_EDIT
    merged = forge.job(forge.follow_up(undelivered))
    other = forge.job(str(forge.service.fork(merged["id"], {})["id"]))
    assert other["result"]["patch"]["base"] == merged["result"]["patch"]["base"]
    assert forge.service.patch(other["id"]) == forge.service.patch(merged["id"])


def test_a_fork_has_a_file_of_the_request_by_the_path_that_a_link_of_the_commit_leads_to(
    forge: Delivering,
) -> None:
    (forge.project.folder / "current").symlink_to("releases")
    forge.push("main", {"releases/a.yml": b"a: 1\n"})
    first, _ = begin(forge, files={"current/c.yml": "c: 1\n"})
    forge.model.replies = SHORT
    fork = forge.job(str(forge.service.fork(first, {})["id"]))
    patch = forge.service.patch(first) or b""
    assert b"+++ b/releases/c.yml" in patch
    assert forge.service.patch(fork["id"]) == patch


def test_an_upload_may_have_the_change_already_or_get_it_again(forge: Delivering) -> None:
    forge.worker()
    terms = {"repo": None, "deliver": None}
    first = forge.submit(bundle=forge.project.bundle(), **terms)
    base = forge.job(first)["result"]["patch"]["base"]
    forge.model.replies = SECOND_EDIT
    second = forge.job(forge.follow_up(first))
    assert second["result"]["patch"]["base"] == base
    assert b"-    return abs(year - EPOCH)" in (forge.service.patch(second["id"]) or b"")
    onto = forge.project.commit({CHANGED: TEXTS[CHANGED].replace(FIRST, SECOND)})
    forge.model.replies = NEXT_EDIT
    digest = asyncio.run(forge.deployment.blobs.put(forge.project.bundle("HEAD")))
    third = forge.job(forge.follow_up(second["id"], repo=Repo(bundle=digest)))
    assert third["result"]["patch"]["base"] == onto
    assert b"EPOCH: int" in (forge.service.patch(third["id"]) or b"")
    assert b"abs(" not in (forge.service.patch(third["id"]) or b"")
