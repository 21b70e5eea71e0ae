"""A worker is killed during a delivery: the change is pushed once, one request is opened, and no
model call is repeated.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.processes.delivering import CALLS, delivering, editing
from support.processes.deployment import MORTAL

KILL_POINTS = {
    "before the push": ("git", "POST", "before"),
    "in the push, which the host has done": ("git", "POST", "after"),
    "between the push and the request": ("api", "GET", "before"),
    "before the request": ("api", "POST", "before"),
    "after the request, which the forge has opened": ("api", "POST", "after"),
}


KINDS = [("github", name) for name in KILL_POINTS] + [("gitlab", list(KILL_POINTS)[-1])]


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_a_kill_at_each_point_of_the_delivery(tmp_path: Path, kind: str, name: str) -> None:
    kill_point = KILL_POINTS[name]
    with delivering(tmp_path, kind) as forge:
        doomed = [forge.worker(lease_seconds=MORTAL)]

        def kill_worker_at(server: str, method: str, moment: str) -> bool:
            """Kill the worker if this is the kill point. Returns whether it was killed."""
            if (server, method, moment) != kill_point or not doomed:
                return False
            killed = doomed.pop()
            killed.kill()
            killed.wait()
            return True

        def api(method: str, moment: str) -> tuple[int, Any, dict[str, str]] | None:
            return (500, {}, {}) if kill_worker_at("api", method, moment) else None

        forge.forge.trouble = api
        forge.git.pushing = lambda method, moment: (
            500 if kill_worker_at("git", method, moment) else None
        )
        job_id = forge.submit()
        forge.until(lambda: not doomed)
        pushes = "POST /team/app.git/git-receive-pack"
        before = forge.git.requests.count(pushes)
        forge.worker(lease_seconds=MORTAL)
        job = forge.job(job_id)
        done = job["result"]["delivery"]
        assert forge.branches() == {f"fettle/{job_id}": done["commit"]}
        assert len(forge.forge.opened) == 1
        assert forge.git.requests.count(pushes) - before == (name == "before the push")
    assert (job["attempts"], len(forge.model.requests)) == (2, CALLS)


def test_a_kill_between_the_delivery_and_the_end(tmp_path: Path) -> None:
    with delivering(tmp_path) as forge:
        doomed = forge.worker(lease_seconds=MORTAL, fail_point="before_end")
        job_id = forge.submit()
        doomed.wait()
        first = forge.branches()
        forge.worker(lease_seconds=MORTAL, repo_author="Another <another@example.org>")
        job = forge.job(job_id)
        kinds = [event.kind for event in forge.service.events(job_id)]
        assert (forge.branches(), list(first)) == (first, [f"fettle/{job_id}"])
        assert (len(forge.forge.opened), kinds.count("delivered")) == (1, 1)
    assert (job["attempts"], len(forge.model.requests)) == (2, CALLS)


FOLLOW_UP_POINTS = [
    "before_start",
    "after_start",
    "before the push",
    "in the push, which the host has done",
    "before_end",
]
"""Around the record of the merge, around the push, and before the record of the end."""


@pytest.mark.parametrize("name", FOLLOW_UP_POINTS)
def test_a_kill_at_each_point_of_a_follow_up(tmp_path: Path, name: str) -> None:
    """The result is one commit on the branch of the first job, even if a person adds a commit after
    the push."""
    with delivering(tmp_path) as forge:
        forge.worker()
        first = forge.submit()
        head = forge.job(first)["result"]["delivery"]["commit"]
        branch = f"fettle/{first}"
        forge.deployment.stop_workers()
        point = {} if name in KILL_POINTS else {"fail_point": name}
        doomed = forge.worker(lease_seconds=MORTAL, **point)
        alive = [doomed]

        def kill_worker_at(method: str, moment: str) -> int | None:
            if KILL_POINTS.get(name) != ("git", method, moment) or not alive:
                return None
            alive.pop().kill()
            return 500

        forge.git.pushing = kill_worker_at
        forge.model.replies = editing("return year - EPOCH", "return int(year) - EPOCH")
        second = forge.follow_up(first)
        doomed.wait(60)
        was_pushed = forge.branches()[branch] != head
        assert was_pushed == (name in {FOLLOW_UP_POINTS[-1], FOLLOW_UP_POINTS[-2]})
        theirs = [forge.push(branch, {"later.txt": b"1\n"})] if was_pushed else []
        forge.worker(lease_seconds=MORTAL)
        job = forge.job(second)
        kinds = [event.kind for event in forge.service.events(second)]
        commits = forge.bare.git("log", "--format=%H", f"main..{branch}").split()
    assert commits == [*theirs, job["result"]["delivery"]["commit"], head]
    assert (len(forge.forge.opened), kinds.count("delivered"), list(forge.branches())) == (
        1,
        1,
        [branch],
    )
    assert (job["attempts"], len(forge.model.requests)) == (2, 2 * CALLS)
