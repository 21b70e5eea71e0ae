"""An approved change whose base has moved: real workers run a job that rebases the change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.graph.repository_job import ANSWER, FILES
from support.graph.repository_job import CHANGED as TEXTS
from support.processes.delivering import CALLS, CHANGED, SHORT, Delivering, delivering
from support.processes.deployment import MORTAL

from lab.provider import ToolCall

VERIFY = (ToolCall("verify", {"command": ["pytest"]}),)
APPROVED = b"    return year - EPOCH\n"
ELSEWHERE = b"    return abs(int(year) - EPOCH)\n"
MARKED = (
    f"<<<<<<< repository\n{ELSEWHERE.decode()}=======\n{APPROVED.decode()}>>>>>>> approved-change\n"
)
RESOLVED = "    return int(year) - EPOCH\n"
RESOLVES = ToolCall("edit_file", {"path": CHANGED, "old_text": MARKED, "new_text": RESOLVED})
SAID = "merged onto commit"


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Delivering]:
    with delivering(tmp_path) as started_forge:
        yield started_forge


def approved(forge: Delivering, job_id: str) -> dict[str, Any]:
    review = forge.job(job_id, "awaiting_review")["review"]
    decision = {"action": "approve", "review_id": review["id"], "digest": review["digest"]}
    forge.service.decide(job_id, decision)
    return forge.job(job_id)


def moved(forge: Delivering, files: dict[str, bytes]) -> str:
    commit = forge.project.commit(files)
    forge.project.git("push", "--quiet", "origin", "main")
    return commit


def delivered(forge: Delivering, job: dict[str, Any], onto: str) -> str:
    """The branch, with one commit directly on the new base, and a request for the branch."""
    branch = f"fettle/{job['id']}"
    assert job["result"]["delivery"]["branch"] == branch
    assert job["result"]["patch"]["base"] == onto == forge.bare.git("rev-parse", f"{branch}^")
    assert forge.forge.opened[-1]["head"]["ref"] == branch
    return branch


def test_a_rebase_onto_a_moved_base_has_its_own_review_and_request(
    forge: Delivering,
) -> None:
    forge.worker()
    first = forge.submit(review=True, labels=["l"], steps=["Correct it."])
    forge.job(first, "awaiting_review")
    onto = moved(forge, {"run.sh": b"#!/bin/sh\nexit 0\n"})
    done = approved(forge, first)
    note = done["result"]["delivery"]["note"]
    assert f"`fettle rebase {first}` continues it on the new commit" in note
    requests_before = len(forge.model.requests)
    assert not any(
        SAID in message.text for request in forge.model.requests for message in request.messages
    )
    forge.model.replies = (VERIFY,)
    second = str(forge.service.rebase(first)["id"])
    job = approved(forge, second)
    branch = delivered(forge, job, onto)
    assert forge.bare.raw("show", f"{branch}:{CHANGED}") == TEXTS[CHANGED]
    assert forge.bare.raw("show", f"{branch}:run.sh") == b"#!/bin/sh\nexit 0\n"
    assert forge.branches().keys() == {f"fettle/{first}", branch}
    assert (job["conversation_id"], job["spec"]["rebase"]["job_id"]) == (first, first)
    assert (job["spec"]["labels"], job["spec"]["steps"]) == (["l"], [])
    kinds = [event.kind for event in forge.service.events(second)]
    assert (kinds.count("fetch_started"), kinds.count("review_opened")) == (1, 1)
    planner, executor = forge.model.requests[requests_before : requests_before + 2]
    for request in (planner, executor):
        text = "\n".join(message.text for message in request.messages)
        first_base = done["result"]["patch"]["base"][:12]
        assert f"its change was made on commit {first_base}, and approved" in text
        assert f"{SAID} {onto[:12]}" in text
        assert "The merge has no conflicts." in text
        assert "Files of the change, over those of the repository, when the job began:" in text
        assert ANSWER in text


def test_a_conflict_is_resolved_by_the_model_and_reviewed_by_the_critic(forge: Delivering) -> None:
    forge.worker()
    first = forge.submit()
    forge.job(first)
    changed_line = FILES[CHANGED].replace(b"    return abs(year - EPOCH)\n", ELSEWHERE)
    onto = moved(forge, {CHANGED: changed_line})
    forge.model.replies = ((RESOLVES, *VERIFY),)
    job = forge.job(str(forge.service.rebase(first)["id"]))
    branch = delivered(forge, job, onto)
    text = changed_line.replace(ELSEWHERE, RESOLVED.encode())
    assert forge.bare.raw("show", f"{branch}:{CHANGED}") == text
    assert (job["result"]["approved_by"], job["result"]["patch"]["files"]) == ("critic", 1)
    assert len(forge.model.requests) == 2 * CALLS
    for request in forge.model.requests[CALLS : CALLS + 2]:
        text = "\n".join(message.text for message in request.messages)
        assert f"- CONFLICT (content): Merge conflict in {CHANGED}\n" in text
        assert "leave no markers" in text


def test_no_critic_approves_conflict_markers_and_a_person_only_with_an_override(
    forge: Delivering,
) -> None:
    """The tests pass, because they do not read the file with the conflict."""
    forge.worker()
    page, edits = "docs/page_1.md", {"path": "docs/page_1.md", "old_text": "1", "new_text": "one"}
    forge.model.replies = ((*SHORT[0], ToolCall("edit_file", edits)), *SHORT[1:])
    first = forge.submit()
    forge.job(first)
    moved(forge, {page: b"# Page I\n"})
    forge.model.replies = (VERIFY,)
    job = forge.job(str(forge.service.rebase(first)["id"]), "failed")
    problem = f"conflict markers are left: {page}"
    assert (job["reason"], job["result"]["verification"]["problem"]) == ("unapproved", problem)
    assert list(forge.branches()) == [f"fettle/{first}"]
    again = str(forge.service.retry(job["id"], {"review": True})["id"])
    review = forge.job(again, "awaiting_review")["review"]
    assert (review["verdict"]["level"], review["verdict"]["needs_override"]) == ("red", True)


def test_a_change_that_the_base_already_has_needs_no_model_call(forge: Delivering) -> None:
    forge.worker()
    first = forge.submit()
    forge.job(first)
    moved(forge, {CHANGED: TEXTS[CHANGED], "docs/page_1.md": b"# Another\n"})
    job = forge.job(str(forge.service.rebase(first)["id"]), "failed")
    assert (job["reason"], len(forge.model.requests)) == ("repository", CALLS)
    assert f"already has the full change of job {first}" in job["detail"]
    assert len(forge.branches()) == 1


def test_after_a_kill_before_the_first_checkpoint_the_rebase_has_the_same_files(
    forge: Delivering,
) -> None:
    """Even if the branch has moved again, to a commit with a conflict."""
    forge.worker()
    first = forge.submit()
    forge.job(first)
    forge.deployment.stop_workers()
    onto = moved(forge, {"run.sh": b"#!/bin/sh\nexit 0\n"})
    doomed = forge.worker(lease_seconds=MORTAL, fail_point="before_checkpoint")
    forge.model.replies = (VERIFY,)
    second = str(forge.service.rebase(first)["id"])
    doomed.wait()
    assert len(forge.model.requests) == CALLS
    moved(forge, {CHANGED: FILES[CHANGED].replace(b"abs(year - EPOCH)", b"0")})
    forge.worker(lease_seconds=MORTAL)
    job = forge.job(second)
    branch = delivered(forge, job, onto)
    assert (job["attempts"], job["result"]["delivery"]["base_moved"]) == (2, True)
    assert forge.bare.raw("show", f"{branch}:{CHANGED}") == TEXTS[CHANGED]


def test_an_undelivered_change_can_be_rebased_and_rebased_again(
    forge: Delivering,
) -> None:
    forge.git.pushing = lambda *_: 403
    forge.worker()
    first = forge.submit()
    assert forge.job(first, "failed")["reason"] == "delivery"
    moved(forge, {"run.sh": b"#!/bin/sh\nexit 0\n"})
    forge.git.pushing = lambda *_: None
    forge.model.replies = (VERIFY,)
    second = str(forge.service.rebase(first)["id"])
    forge.job(second)
    onto = moved(forge, {"run.sh": b"#!/bin/sh\nexit 1\n"})
    job = forge.job(str(forge.service.rebase(second)["id"]))
    branch = delivered(forge, job, onto)
    assert forge.branches().keys() == {f"fettle/{second}", branch}
    assert forge.bare.raw("show", f"{branch}:{CHANGED}") == TEXTS[CHANGED]
