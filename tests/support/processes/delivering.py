"""A deployment that delivers to a forge on loopback, and a job that corrects a fault."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from support.graph.repository_job import REPLIES, TASK, RepairingModel, project
from support.graph.thread_job import ThreadModel
from support.processes.deployment import Deployment, running_deployment
from support.processes.fronts import front
from support.processes.preloaded import Process
from support.servers.forge_api import PATH, ForgeApi
from support.servers.git_repositories import Repository
from support.servers.git_server import GitServer, git_server

from fettle import Service
from lab.provider import ProviderServer, ToolCall
from settings.base import DEVELOPMENT_KEY

SECRET = "s3cret-token"
SHORT = ((*REPLIES[2], ToolCall("verify", {"command": ["python", "-m", "pytest"]})),)
NEXT_TASK = "Years that are texts count, too."
CHANGED = "days/count.py"
"""The path of the file that the job changes."""


def editing(old: str, new: str) -> tuple[tuple[ToolCall, ...], ...]:
    """The executor's replies that replace a text of `CHANGED` and run the tests."""
    edit = ToolCall("edit_file", {"path": CHANGED, "old_text": old, "new_text": new})
    return ((edit, ToolCall("verify", {"command": ["python", "-m", "pytest"]})),)


CALLS = 4
"""The number of model calls of an approved job: one plan, two of the executor, one verdict."""
JOB_SECONDS = 90.0
"""The longest time of a job. A worker that starts under load needs half a minute of it."""


@dataclass
class Delivering:
    """`project` is a clone, as a user has it; `bare` is the forge's repository."""

    deployment: Deployment
    service: Service
    git: GitServer
    forge: ForgeApi
    project: Repository
    bare: Repository
    model: RepairingModel | ThreadModel
    settings: dict[str, str]

    def worker(self, **settings: str) -> Process:
        return self.deployment.worker(**{**self.settings, **settings})

    def submit(self, **fields: Any) -> str:
        spec = {
            "task": TASK,
            "model": "groq:llama-3.3-70b-versatile",
            "repo": {"url": self.url, "ref": "main"},
            "deliver": {"pull_request": True},
            "run_seconds": 60,
        }
        bundle = fields.pop("bundle", None)
        return str(self.service.submit({**spec, **fields}, bundle=bundle)["id"])

    def follow_up(self, parent_id: str, **fields: Any) -> str:
        """Submit the next job of a job's conversation, with the terms of that job."""

        async def submit() -> str:
            async with self.deployment.operations() as operations:
                parent = await self.deployment.record_of(operations, parent_id)
                terms = replace(parent.spec, rebase=None, retry_of=None, task=NEXT_TASK)
                spec = replace(terms, conversation_id=parent.conversation_id, **fields)
                return await self.deployment.submit(operations, spec)

        return asyncio.run(submit())

    def approve(self, job_id: str) -> dict[str, Any]:
        """Approve the open review of a job; return the job when it has succeeded."""
        self.decide(job_id)
        return self.job(job_id)

    def decide(self, job_id: str) -> None:
        """Approve the open review of a job."""
        review = self.job(job_id, "awaiting_review")["review"]
        decision = {"action": "approve", "review_id": review["id"], "digest": review["digest"]}
        self.service.decide(job_id, decision)

    def push(self, branch: str, files: Mapping[str, bytes]) -> str:
        """Add a commit of a person to a branch of the forge; return the commit."""
        self.project.git("fetch", "--quiet", "origin", branch)
        self.project.git("checkout", "--quiet", "-B", branch, "FETCH_HEAD")
        commit = self.project.commit(files)
        self.project.git("push", "--quiet", "origin", branch)
        return commit

    def merge(self, branch: str) -> str:
        """Merge a branch into main as one new commit, and delete the branch, as forges do; return
        the commit."""
        self.project.git("fetch", "--quiet", "origin", branch, "main")
        self.project.git("checkout", "--quiet", "-B", "main", "origin/main")
        self.project.git("merge", "--quiet", "--squash", f"origin/{branch}")
        commit = self.project.commit(message="Squashed")
        self.project.git("push", "--quiet", "origin", "main", f":{branch}")
        return commit

    def file(self, commit: str, path: str) -> bytes:
        """The bytes of a file in the forge's repository."""
        return self.bare.raw("show", f"{commit}:{path}")

    @property
    def url(self) -> str:
        return self.git.url(f"{PATH}.git")

    def until(self, holds: Callable[[], object]) -> None:
        end = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < end, self.deployment.logs()
            time.sleep(0.02)

    def job(self, job_id: str, status: str = "succeeded") -> dict[str, Any]:
        """Wait until the job ends or waits for a person; return the job, which has this status."""
        end = time.monotonic() + JOB_SECONDS
        # Requests that wait leave the cores to the job.
        while (job := self.service.job(job_id, wait=10))["status"] in ("queued", "running"):
            assert time.monotonic() < end, self.deployment.logs()
        assert job["status"] == status, (job["detail"], self.deployment.logs())
        return job

    def branches(self) -> dict[str, str]:
        """The forge's branches except main, with their commits."""
        rows = self.bare.git("for-each-ref", "--format=%(refname:short) %(objectname)")
        refs = dict(row.split() for row in rows.splitlines())
        return {name: commit for name, commit in refs.items() if name.startswith("fettle/")}


@contextlib.contextmanager
def delivering(
    folder: Path, kind: str = "github", model: RepairingModel | ThreadModel | None = None
) -> Iterator[Delivering]:
    """A deployment without a worker, and a forge of this kind."""
    model = model or RepairingModel(replies=SHORT, run="r1")
    (folder / "forge" / "team").mkdir(parents=True)
    local = project(folder / "local")
    bare = folder / "forge" / f"{PATH}.git"
    local.git("clone", "--quiet", "--bare", str(local.folder), str(bare))
    local.git("remote", "add", "origin", str(bare))
    with contextlib.ExitStack() as stack:
        deployment = stack.enter_context(running_deployment(folder, GROQ_API_KEY="a"))
        git = stack.enter_context(git_server(folder / "forge"))
        provider = stack.enter_context(ProviderServer(model.turn))
        api = stack.enter_context(front(deployment))
        service = stack.enter_context(Service(api.url, DEVELOPMENT_KEY))
        forge = ForgeApi(kind, git.authority, SECRET)
        git.credential, git.api = f"me:{SECRET}", forge
        credentials = folder / "credentials"
        credentials.write_text(f"{git.authority} me:{SECRET}\n")
        credentials.chmod(0o600)
        settings = {
            "groq_base_url": provider.groq_url,
            "repo_hosts": git.listed,
            "repo_credentials": str(credentials),
            "deliver_hosts": f"{git.authority}={kind}",
            "retry_seconds": "0.1",
        }
        yield Delivering(deployment, service, git, forge, local, Repository(bare), model, settings)
