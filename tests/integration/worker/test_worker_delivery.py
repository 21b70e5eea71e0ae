"""An approved change, delivered by real workers to a forge on loopback: a branch and a request."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.graph.repository_job import ANSWER, TASK
from support.graph.repository_job import CHANGED as TEXTS
from support.processes.delivering import (
    CALLS,
    CHANGED,
    JOB_SECONDS,
    SECRET,
    Delivering,
    delivering,
)
from support.processes.fronts import front
from support.servers.forge_api import PATH

from fettle import Service
from fettle.errors import ApiError
from worker.repositories.patches import tip


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Delivering]:
    with delivering(tmp_path) as started_forge:
        yield started_forge


def approve(forge: Delivering, job_id: str) -> None:
    review = forge.job(job_id, "awaiting_review")["review"]
    decision = {"action": "approve", "review_id": review["id"], "digest": review["digest"]}
    forge.service.decide(job_id, decision)


def refused(forge: Delivering, job_id: str) -> dict[str, Any]:
    """A job that was approved but not delivered, without the end of its delivery."""
    job = forge.job(job_id, "failed")
    assert (job["reason"], job["result"]["approved_by"]) == ("delivery", "critic")
    assert job["result"]["patch"]["files"] == 1
    assert forge.service.patch(job_id)
    return job


@pytest.mark.matrix(every=2)
@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_an_approved_change_is_pushed_and_a_request_opened(tmp_path: Path, kind: str) -> None:
    with delivering(tmp_path, kind) as forge:
        forge.worker()
        job_id = forge.submit(review=True, task=f"{TASK} See #7, @ann.")
        forge.job(job_id, "awaiting_review")
        assert (forge.branches(), forge.forge.requests) == ({}, [])
        approve(forge, job_id)
        job = forge.job(job_id)
        events = list(forge.service.events(job_id))
    branch, (opened,) = f"fettle/{job_id}", forge.forge.opened
    done = job["result"]["delivery"]
    assert forge.branches() == {branch: done["commit"]}
    assert (done["branch"], done["base"], done["base_moved"]) == (branch, "main", False)
    assert done["pull_request"].startswith(f"http://{forge.git.authority}/{PATH}/")
    assert forge.bare.git("rev-parse", f"{branch}^") == job["result"]["patch"]["base"]
    assert forge.bare.raw("show", f"{branch}:{CHANGED}") == TEXTS[CHANGED]
    assert opened["title"] == f"{TASK} See # 7, @ ann."
    assert forge.bare.git("log", "-1", "--format=%s", branch) == opened["title"]
    text = opened["body" if kind == "github" else "description"]
    assert (job_id in text, TASK in text, ANSWER in text) == (True, True, True)
    assert opened["base" if kind == "github" else "target_branch"] == "main"
    (event,) = [
        event_candidate for event_candidate in events if event_candidate.kind == "delivered"
    ]
    assert dict(event.data) == done
    for visible_text in (
        json.dumps(job),
        repr(events),
        forge.deployment.logs(),
        *forge.git.requests,
    ):
        assert SECRET not in visible_text


def test_a_tenants_jobs_fetch_and_push_only_with_its_own_credential(forge: Delivering) -> None:
    file = Path(forge.settings["repo_credentials"])
    file.write_text(f"[acme]\n{file.read_text()}")
    forge.worker()
    job = forge.job(forge.submit(), "failed")
    assert (job["reason"], forge.branches(), forge.model.requests) == ("delivery", {}, [])
    assert "no token for" in job["detail"]
    job = forge.job(forge.submit(deliver=None), "failed")
    assert (job["reason"], "wants a credential" in job["detail"]) == ("repository", True)
    key_fields = {"name": "ann", "tenant": "acme", "scopes": ["submit", "read"]}
    with Service(forge.service.url, str(forge.service.create_key(key_fields)["secret"])) as acme:
        acmes = replace(forge, service=acme)
        done = acmes.job(acmes.submit())["result"]["delivery"]
    assert forge.branches() == {done["branch"]: done["commit"]}
    job = forge.job(forge.submit(deliver=None), "failed")
    assert job["reason"] == "repository", "what acme fetched is not served to others"


def test_no_change_is_delivered_without_a_required_approval(forge: Delivering) -> None:
    """This also holds for jobs from before the setting, which the API has not refused."""
    forge.worker(deliver_needs_review="true")
    unreviewed = forge.job(forge.submit(), "failed")
    assert (unreviewed["reason"], forge.model.requests) == ("delivery", [])
    assert "FETTLE_DELIVER_NEEDS_REVIEW" in unreviewed["detail"]
    delegated = forge.submit(review=True)
    forge.job(delegated, "awaiting_review")
    forge.service.decide(delegated, {"action": "delegate"})
    result = forge.job(delegated)["result"]
    assert result["approved_by"] == "critic"
    assert result["delivery"]["branch"] is None
    assert "critic has approved it, and this deployment" in result["delivery"]["note"]
    assert (forge.branches(), forge.forge.requests) == ({}, [])
    approved = forge.submit(review=True)
    approve(forge, approved)
    assert forge.job(approved)["result"]["delivery"]["branch"] == f"fettle/{approved}"


def test_a_push_that_the_host_refuses_and_the_retries(forge: Delivering) -> None:
    forge.git.pushing = lambda *_: 403
    forge.worker()
    first = forge.submit(deliver={"branch": True})
    job = refused(forge, first)
    assert "may not write to it (FETTLE_REPO_CREDENTIALS)" in job["detail"]
    assert SECRET not in json.dumps(job)
    forge.git.pushing = lambda *_: None
    hook = forge.bare.folder / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nprintf 'Only \\033[31mAda\\033[0m may push here.\\n'\nexit 1\n")
    hook.chmod(0o755)
    second = str(forge.service.retry(first)["id"])
    job = refused(forge, second)
    assert "pre-receive hook declined: Only ?[31mAda?[0m may push here." in job["detail"]
    assert (forge.branches(), job["result"]["delivery"]) == ({}, None)
    hook.unlink()
    done = forge.job(str(forge.service.retry(second)["id"]))["result"]["delivery"]
    assert forge.branches() == {f"fettle/{first}": done["commit"]}
    assert (len(forge.model.requests), done["pull_request"], forge.forge.requests) == (
        CALLS,
        None,
        [],
    )


def test_a_request_that_the_forge_refuses_and_the_retries(forge: Delivering) -> None:
    forge.forge.trouble = lambda *_: (503, {"message": "down"}, {})
    forge.worker(retries="1")
    first = forge.submit()
    job = refused(forge, first)
    assert "given up after 2 tries" in job["detail"]
    log = forge.deployment.logs()
    assert (log.count('"attempt given back"'), log.count('"tries used up"')) == (1, 1), log
    done = job["result"]["delivery"]
    assert (forge.branches(), done["pull_request"]) == ({f"fettle/{first}": done["commit"]}, None)
    scopes = {"message": "Resource not accessible by personal access token"}
    forge.forge.trouble = lambda method, _: (403, scopes, {}) if method == "POST" else None
    second = str(forge.service.retry(first)["id"])
    job = refused(forge, second)
    assert scopes["message"] in job["detail"]
    assert "credential does not allow it (FETTLE_REPO_CREDENTIALS)" in job["detail"]
    assert job["result"]["delivery"] == done
    forge.forge.trouble = lambda *_: None
    after = forge.job(str(forge.service.retry(second)["id"]))["result"]["delivery"]
    assert {**after, "pull_request": None} == done
    assert forge.branches() == {f"fettle/{first}": done["commit"]}
    assert (len(forge.forge.opened), len(forge.model.requests)) == (1, CALLS)


def test_a_retry_with_a_review_delivers_the_commit_that_its_parent_has_pushed(
    forge: Delivering,
) -> None:
    """Also if a retry without a review has failed in between."""
    scopes = {"message": "Resource not accessible by personal access token"}
    forge.forge.trouble = lambda method, _: (403, scopes, {}) if method == "POST" else None
    worker = forge.worker()
    first = forge.submit()
    done = refused(forge, first)["result"]["delivery"]
    worker.send_signal(signal.SIGTERM)
    worker.wait(JOB_SECONDS)
    forge.forge.trouble = lambda *_: None
    forge.worker(deliver_needs_review="true")
    second = str(forge.service.retry(first)["id"])
    assert "retry the job with a review" in forge.job(second, "failed")["detail"]
    third = str(forge.service.retry(second, {"review": True})["id"])
    after = forge.approve(third)["result"]["delivery"]
    assert {**after, "pull_request": None} == done
    assert forge.branches() == {f"fettle/{first}": done["commit"]}
    stored = {tip(forge.service.bundle(job_id)) for job_id in (first, second, third)}
    assert stored == {done["commit"]}, "a follow-up continues from the stored commit"


UNKNOWN_BRANCH = {
    "github": (
        422,
        {
            "message": "Validation Failed",
            "errors": [{"resource": "PullRequest", "field": "head", "code": "invalid"}],
        },
    ),
    "gitlab": (400, {"message": {"source_branch": ["does not exist"]}}),
}
"""The answer of a forge whose API does not know a branch that was pushed a moment ago."""


@pytest.mark.matrix(every=2)
@pytest.mark.parametrize("kind", UNKNOWN_BRANCH)
def test_a_forge_that_does_not_know_the_branch_yet_is_called_again(
    tmp_path: Path, kind: str
) -> None:
    answers = [UNKNOWN_BRANCH[kind]]
    with delivering(tmp_path, kind) as forge:
        forge.forge.trouble = lambda method, moment: (
            (*answers.pop(), {}) if method == "POST" and moment == "before" and answers else None
        )
        forge.worker()
        job_id = forge.submit()
        job = forge.job(job_id)
        kinds = [event.kind for event in forge.service.events(job_id)]
    assert (answers, kinds.count("given_back"), len(forge.forge.opened)) == ([], 1, 1)
    assert job["result"]["delivery"]["pull_request"]


def test_a_request_that_a_forge_finds_invalid_is_final(forge: Delivering) -> None:
    errors = [{"resource": "PullRequest", "field": "base", "code": "invalid"}]
    refusal = {"message": "Validation Failed", "errors": errors}
    forge.forge.trouble = lambda method, _: (422, refusal, {}) if method == "POST" else None
    forge.worker()
    job = refused(forge, forge.submit())
    assert "answered 422: Validation Failed" in job["detail"]


def test_the_job_waits_during_outages_without_a_model_call(forge: Delivering) -> None:
    """Even if the host has carried out the request, and its answer is lost."""
    lost = {"git": True, "api": True}
    forge.git.pushing = lambda method, moment: (
        502 if (method, moment) == ("POST", "after") and lost.pop("git", None) else None
    )
    forge.forge.trouble = lambda method, moment: (
        (500, {}, {}) if (method, moment) == ("POST", "after") and lost.pop("api", None) else None
    )
    forge.worker()
    job_id = forge.submit()
    job = forge.job(job_id)
    kinds = [event.kind for event in forge.service.events(job_id)]
    assert (lost, kinds.count("given_back"), kinds.count("delivered")) == ({}, 2, 1)
    assert len(forge.model.requests) == CALLS
    assert len(forge.forge.opened) == 1
    assert list(forge.branches()) == [job["result"]["delivery"]["branch"]]


def test_an_existing_branch_is_not_changed(forge: Delivering) -> None:
    forge.worker()
    job_id = forge.submit(review=True)
    forge.job(job_id, "awaiting_review")
    theirs = forge.bare.git("rev-parse", "main")
    forge.bare.git("branch", f"fettle/{job_id}", "main")
    approve(forge, job_id)
    job = forge.job(job_id, "failed")
    assert (job["reason"], forge.branches()) == ("delivery", {f"fettle/{job_id}": theirs})
    assert "with another commit" in job["detail"]
    assert forge.forge.opened == []


def test_a_moved_base_is_reported(forge: Delivering) -> None:
    forge.worker(repo_commits="1")
    job_id = forge.submit(review=True, repo={"url": forge.url})
    forge.job(job_id, "awaiting_review")
    forge.project.commit({"later.txt": b"1\n"})
    forge.project.git("push", "--quiet", "origin", "main")
    approve(forge, job_id)
    job = forge.job(job_id)
    done = job["result"]["delivery"]
    assert (done["base"], done["base_moved"]) == ("main", True)
    assert "main is no longer at" in done["note"]
    assert forge.forge.opened[0]["base"] == "main"
    assert forge.bare.git("rev-parse", f"{done['branch']}^") == job["result"]["patch"]["base"]


def test_a_forbidden_destination_is_reported_before_any_cost(
    forge: Delivering,
) -> None:
    forge.worker(deliver_hosts="other.example=gitlab")
    job = forge.job(forge.submit(), "failed")
    assert (job["reason"], forge.model.requests) == ("delivery", [])
    assert f"FETTLE_DELIVER_HOSTS={forge.git.authority}=github" in job["detail"]


def test_without_an_approval_or_a_change_there_is_no_delivery(forge: Delivering) -> None:
    forge.model.verdict = "revise"
    forge.worker()
    job = forge.job(forge.submit(on_exhausted="accept", max_revisions=1))
    assert job["unapproved"]
    assert "nobody has approved" in job["result"]["delivery"]["note"]
    forge.model.verdict, forge.model.replies, forge.model.run = "approve", (), None
    job = forge.job(forge.submit(evidence="none"))
    assert "has changed nothing" in job["result"]["delivery"]["note"]
    assert (forge.branches(), forge.forge.requests) == ({}, [])


def test_an_owner_of_the_changed_file_approves(forge: Delivering, tmp_path: Path) -> None:
    forge.project.commit({"CODEOWNERS": b"* @all\n/days/ @days\n"})
    forge.project.git("push", "--quiet", "origin", "main")
    policy = tmp_path / "review.toml"
    rule = '[[rule]]\nname = "owned"\nrepositories = ["*"]\napprovers = ["CODEOWNERS"]\n'
    policy.write_text(f'{rule}[groups]\n"@days" = ["Grace Hopper"]\n"@all" = ["heidi"]\n')
    forge.worker()
    with contextlib.ExitStack() as stack:
        api = stack.enter_context(front(forge.deployment, "ruled", review_policy=str(policy)))
        persons = [
            stack.enter_context(Service(api.url, forge.service.create_key(key)["secret"]))
            for key in (
                {"name": "ada", "scopes": ["submit"]},
                {"name": "heidi", "scopes": ["review"]},
                {"name": "laptop", "scopes": ["review"], "person": "Grace Hopper"},
            )
        ]
        ada, heidi, grace = persons
        job_id = replace(forge, service=ada).submit()
        review = forge.job(job_id, "awaiting_review")["review"]
        assert review["payload"]["owners"] == [{"path": CHANGED, "owners": ["@days"]}]
        decision = {"action": "approve", "review_id": review["id"], "digest": review["digest"]}
        with pytest.raises(ApiError, match=r"all changed files \(days/count.py: @days\)"):
            heidi.decide(job_id, decision)
        grace.decide(job_id, decision)
        assert forge.job(job_id)["result"]["delivery"]["branch"]
