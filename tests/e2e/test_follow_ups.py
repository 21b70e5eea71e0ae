"""Three jobs on one branch of a real git server: over HTTP, from the command and on the pages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from support.graph.thread_job import ANSWERS, CLI, TASKS, ThreadModel, number_of, text_of
from support.pages.chromium import visiting
from support.pages.large_patch import pictured
from support.processes.delivering import Delivering, delivering
from support.processes.fettle_command import environment, fettle

from lab.browser import launched
from settings.base import DEVELOPMENT_KEY

pytestmark = pytest.mark.e2e
MODEL = "groq:llama-3.3-70b-versatile"
REMARK = "Negative years are what we want."


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Delivering]:
    with delivering(tmp_path, model=ThreadModel()) as started_forge:
        started_forge.worker()
        yield started_forge


def post(forge: Delivering, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """A request over HTTP, with the answer's JSON."""
    url, headers = forge.service.url + path, {"X-API-Key": DEVELOPMENT_KEY}
    answer = httpx.post(url, json=body, headers=headers, timeout=20)
    assert answer.is_success, answer.text
    return dict(answer.json())


def approve(forge: Delivering, job_id: str, feedback: str = "") -> dict[str, Any]:
    """Approve the job's open review, and return the job at its end."""
    review = forge.job(job_id, "awaiting_review")["review"]
    decision = {"action": "approve", "review_id": review["id"], "feedback": feedback}
    post(forge, f"/jobs/{job_id}/review", decision)
    return forge.job(job_id)


def test_each_follow_up_adds_a_commit_to_the_branch_of_the_first_job(
    forge: Delivering, tmp_path: Path
) -> None:
    repo, deliver = {"url": forge.url, "ref": "main"}, {"pull_request": True}
    terms = {"model": MODEL, "review": True, "run_seconds": 60}
    job = {**terms, "task": TASKS[0], "repo": repo, "deliver": deliver}
    first = post(forge, "/jobs", job)["id"]
    jobs = [approve(forge, first, REMARK)]
    follow_up = {**terms, "task": TASKS[1], "conversation_id": first, "review": False}
    jobs.append(forge.job(post(forge, "/jobs", follow_up)["id"]))  # the critic approves it
    words = ("run", "--conversation", first, "--review", "--model", MODEL, "--run-time", "60s")
    env = environment(tmp_path, FETTLE_URL=forge.service.url)
    submitted = fettle(*words, "--no-wait", TASKS[2], cwd=tmp_path, env=env)
    assert submitted.returncode == 0, submitted.stderr
    jobs.append(approve(forge, submitted.stdout.strip()))
    watched = fettle("watch", jobs[2]["id"], cwd=tmp_path, env=env)
    end = f'follow up: `fettle run --conversation {first} "..."` adds to the branch fettle/{first}'
    assert watched.stdout.rstrip().endswith(end)

    pushes = [job["result"]["delivery"] for job in jobs]
    branch = f"fettle/{first}"
    assert [push["branch"] for push in pushes] == [branch] * 3
    commits = [push["commit"] for push in pushes]
    assert forge.branches() == {branch: commits[-1]}
    log = forge.bare.git("log", "--reverse", "--format=%H %P", f"main..{branch}").splitlines()
    main = forge.bare.git("rev-parse", "main")
    assert log == [f"{commit} {parent}" for parent, commit in pairwise([main, *commits])]
    assert [job["result"]["patch"]["base"] for job in jobs] == [main, *commits[:2]]
    assert [job["result"]["patch"]["files"] for job in jobs] == [2, 2, 1]
    assert len(forge.forge.opened) == 1
    assert {push["pull_request"] for push in pushes} == {pushes[0]["pull_request"]}
    assert forge.bare.raw("show", f"{branch}:days/cli.py") == CLI.encode()
    for job in jobs[1:]:
        assert job["spec"]["repo"] == jobs[0]["spec"]["repo"]
        assert job["spec"]["deliver"] == jobs[0]["spec"]["deliver"]
        assert job["conversation_id"] == first
    conversation = httpx.get(
        f"{forge.service.url}/conversations/{first}", headers={"X-API-Key": DEVELOPMENT_KEY}
    ).json()
    assert [job["answer"] for job in conversation["jobs"]] == list(ANSWERS)

    follow_up_requests = [request for request in forge.model.requests if number_of(request) == 1]
    assert {request.forced_tool for request in follow_up_requests} == {"Plan", None, "Verdict"}
    for request in follow_up_requests:
        text = text_of(request)
        assert f"- Task: {TASKS[0]}\n" in text
        assert f"(approve): {REMARK}\n  Outcome: {ANSWERS[0]}" in text


def test_a_team_continues_on_one_branch_from_the_pages(forge: Delivering) -> None:
    repo, deliver = {"url": forge.url, "ref": "main"}, {"pull_request": True}
    request = {"task": TASKS[0], "model": MODEL, "review": True, "run_seconds": 60}
    first = post(forge, "/jobs", {**request, "repo": repo, "deliver": deliver})["id"]
    with launched() as browser, visiting(browser, forge.service.url) as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = visitor.go(f"/app/jobs/{first}")
        approve_on_page(page)
        for task in TASKS[1:]:
            page.locator("summary", has_text="Follow up").click()
            page.get_by_label("Next task").fill(task)
            page.get_by_role("button", name="Submit", exact=True).click()
            page.wait_for_url(lambda url: "/app/jobs/" in url and not url.endswith(first))
            approve_on_page(page)
            expect(page.locator("#strip")).to_contain_text(f"Pushed as fettle/{first}")
        visitor.go(f"/app/conversations/{first}")
        thread = page.locator("main")
        expect(thread.get_by_label("Branch")).to_contain_text(
            f"Branch fettle/{first} has 3 commits of this conversation"
        )
        for commit in forge.bare.git("log", "--format=%H", "main..fettle/" + first).splitlines():
            expect(thread.get_by_label("Branch")).to_contain_text(commit[:12])
        assert Axe().run(page).violations_count == 0
        page.set_viewport_size({"width": 1100, "height": 1340})
        pictured(page, "thread")
        assert visitor.wrong == []
    assert len(forge.branches()) == 1


def approve_on_page(page: Page) -> None:
    """Approve the job on its page, and wait until its change is pushed."""
    expect(page.locator("#review-panel")).to_be_visible(timeout=60_000)
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    expect(page.locator("#strip")).to_contain_text("Pushed as")


def test_an_uploaded_repository_is_followed_up_with_its_new_commits(
    forge: Delivering, tmp_path: Path
) -> None:
    project, env = forge.project, environment(tmp_path, FETTLE_URL=forge.service.url)

    def command(*words: str) -> str:
        ended = fettle(*words, cwd=project.folder, env=env)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    options = ("--model", MODEL, "--run-time", "60s", "--no-wait")
    head = project.git("rev-parse", "HEAD")
    first = command("run", "--repo", ".", *options, TASKS[0])
    assert forge.job(first)["result"]["patch"]["base"] == head
    second = forge.job(command("run", "--conversation", first, *options, TASKS[1]))
    patch, start = second["result"]["patch"], second["continues"]
    assert (patch["base"], patch["files"]) == (head, 4), "the patch has both changes"
    assert (start["job_id"], start["branch"], start["merged"]) == (first, None, True)
    command("apply", second["id"])
    project.git("commit", "--quiet", "-m", "Merge the work of two jobs")
    head = project.git("rev-parse", "HEAD")
    third = command("run", "--conversation", first, "--repo", ".", *options, TASKS[2])
    patch = forge.job(third)["result"]["patch"]
    assert (patch["base"], patch["files"]) == (head, 1), "the new commits have the earlier changes"
