"""`python -m lab.evals.repos.verifier`: the verifier's process, see `lab.evals.repos.verifying`.

A line of stdin is an order: {number, task, candidate, patch?}. `candidate` is `fix` (the shipped
one), `none` or `patch`; or `bundle`, for the path of the task's bundle; or `merge`, for the path of
a bundle in which the patch is a further commit. A line of stdout is the answer: {number, passed,
why, failing, note?, untried?}, {number, bundle, commit, setup?}, or {number, error}.
`untried`: a patch or the environment is at fault, and no test has run.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from jobs.model.spec import Repo
from lab.evals.repos.environment import packages, project
from lab.evals.repos.environment.environments import (
    Environment,
    Environments,
    OnceForArguments,
    over,
)
from lab.evals.repos.environment.packages import NoPackages
from lab.evals.repos.pytest_run import LIMITS, PytestRun, Tree, run_tests
from lab.evals.repos.task import RepoTask
from lab.evals.repos.trees import Changed, Patches, PatchRefused
from sandbox.protocol import SandboxUnavailable
from settings.repositories import RepositorySettings
from settings.sandbox import SandboxSettings
from worker.adapters.backend import backend
from worker.repositories.errors import RepositoryRefused
from worker.repositories.source import Repositories

RUNS_AT_ONCE = min(os.cpu_count() or 1, 8)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task's repository, and its environment."""

    patches: Patches
    base: Any
    environment: Environment


@dataclass(slots=True)
class Verifier:
    """Verifies tasks. The files that it makes for them are in `folder`, as long as `folder`
    exists.
    """

    folder: Path
    repositories: Repositories
    environments: Environments
    _once: OnceForArguments = field(default_factory=OnceForArguments)

    async def answer(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to an order."""
        task = RepoTask.from_fields(order["task"])
        try:
            if order["candidate"] == "bundle":
                patches = await self._once(self._open, task)
                setup = _setup_command(task)
                bundle = str(await self._bundle(task))
                return {"bundle": bundle, "commit": patches.commit, "setup": setup}
            if order["candidate"] == "merge":
                return await self._merge(task, order["patch"].encode("latin-1"))
            return await self._verdict(task, order["candidate"], order.get("patch", ""))
        except (NoPackages, PatchRefused, RepositoryRefused) as error:
            return untried(str(error))
        except SandboxUnavailable as error:
            return {"error": f"the sandbox does not work: {error}"}

    async def _verdict(self, task: RepoTask, candidate: str, patch: str) -> dict[str, Any]:
        prepared = await self._once(self._prepare, task)
        if candidate == "patch":
            changed = await prepared.patches.judged(task, patch.encode("latin-1"))
        else:
            changed = await prepared.patches.shipped(task, fix=candidate == "fix")
        if candidate == "none":
            task = replace(task, pass_to_pass=())
        environment = prepared.environment
        if environment.backend:  # the compiled modules may depend on changed files
            environment = await self.environments.build_project(
                environment, prepared.base, changed.files, changed.removed
            )
        tree = over(prepared.base.layer, environment)
        async with self.environments.turns:
            full_tree = _over(tree, changed)
            # without the fix, tests that the command does not reach count as not passed
            runs_all = candidate != "none"
            ran = await run_tests(self.environments.sandbox, task, full_tree, runs_all=runs_all)
        return {**judged(task, ran), "note": environment.installed.note}

    async def _bundle(self, task: RepoTask) -> Path:
        """The task's bundle; one of a mirror is made."""
        if task.base.bundle is not None:
            return Path(task.base.bundle)
        path = self.folder / f"{_key(task)}.bundle"
        await self._once(self._write_bundle, task, path)
        return path

    async def _merge(self, task: RepoTask, patch: bytes) -> dict[str, Any]:
        """A bundle in which the patch is a commit on top of the base."""
        patches = await self._once(self._open, task)
        path = self.folder / f"{_key(task)}-{sha256(patch).hexdigest()[:16]}.bundle"
        return {"bundle": str(path), "commit": await patches.merge(patch, path)}

    async def _write_bundle(self, task: RepoTask, path: Path) -> None:
        assert task.base.mirror is not None
        await (await self._once(self._open, task)).bundle(path, Path(task.base.mirror))

    async def _open(self, task: RepoTask) -> Patches:
        return await Patches.opened(self.folder / f"{_key(task)}.git", task.base)

    async def _prepare(self, task: RepoTask) -> Prepared:
        """The task's repository and environment."""
        packages.requirements(task.setup)  # checked before any file is fetched
        patches = await self._once(self._open, task)
        content = await asyncio.to_thread((await self._bundle(task)).read_bytes)
        repo = Repo(bundle=sha256(content).hexdigest(), ref=patches.commit)

        async def upload() -> bytes:
            return content

        commit = await self.repositories.commit(repo, upload)
        base = await self.repositories.base(repo, commit, upload)
        tags = await self._tags(base, patches, content)
        return Prepared(patches, base, await self.environments.of(task.setup, base, tags))

    async def _tags(self, base: Any, patches: Patches, bundle: bytes) -> dict[str, bytes]:
        """Files of git: if the bundle has no tag, a tag at the base commit for the version that the
        index had at that time. Otherwise, backends that ask git for the version would find none.
        """
        if b" refs/tags/" in bundle.partition(b"\n\n")[0]:
            return {}
        files = [await base.read(path) for path in ("pyproject.toml", "setup.cfg")]
        name = project.unversioned(*files)
        version = name and await packages.newest(name, await patches.date())
        names = (version, f"v{version}") if version else ()
        return {f".git/refs/tags/{tag}": f"{patches.commit}\n".encode() for tag in names}


def judged(task: RepoTask, ran: PytestRun) -> dict[str, Any]:
    """The verdict on a run. `failing` are the tests of fail_to_pass that have not passed. Pure."""
    problem = ran.why_not((*task.fail_to_pass, *task.pass_to_pass))
    failing = [name for name in task.fail_to_pass if not ran.passed(name)]
    return {"passed": problem is None, "why": problem or "", "failing": failing}


def untried(reason: str) -> dict[str, Any]:
    """The answer if no test has run."""
    return {"passed": False, "why": reason, "failing": [], "untried": True}


def _setup_command(task: RepoTask) -> str | None:
    """The command with which a job installs the task's packages. If a line of the task's setup is
    no requirement, the verdict says so, and there is no command."""
    with suppress(NoPackages):
        return packages.setup_command(task.setup)
    return None


def _over(tree: Tree, changed: Changed) -> Tree:
    files = {**tree.files, **changed.files}
    return replace(tree, files=files, removed=changed.removed - set(files))


def _key(task: RepoTask) -> str:
    return sha256(task.id.encode()).hexdigest()[:32]


async def serve(verifier: Verifier) -> None:
    """Answer each order when it is done, until stdin ends."""
    under_way: set[asyncio.Task[None]] = set()

    async def answer_order(order: Mapping[str, Any]) -> None:
        try:
            answer = await verifier.answer(order)
        except Exception as error:  # noqa: BLE001 - the asker waits for an answer
            traceback.print_exc()
            answer = untried(f"the verifier failed: {type(error).__name__}: {error}")
        sys.stdout.write(json.dumps({"number": order["number"], **answer}) + "\n")
        sys.stdout.flush()

    while line := await asyncio.to_thread(sys.stdin.readline):
        task = asyncio.create_task(answer_order(json.loads(line)))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    for task in under_way:  # no caller waits for these answers any more
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)


async def main() -> None:
    """Serve with the sandbox that FETTLE_SANDBOX names. Repositories are in a folder of this
    process.
    """
    with tempfile.TemporaryDirectory(prefix="fettle-repos-") as name:
        folder = Path(name)
        repositories = Repositories(folder, RepositorySettings())
        settings = SandboxSettings(sandbox_rooms=0)
        sandbox = backend(settings, ready_for=LIMITS, layers=repositories.layers)
        try:
            wheels = folder / "wheels"
            wheels.mkdir()
            turns = asyncio.Semaphore(RUNS_AT_ONCE)
            environments = Environments(sandbox, repositories.layers, wheels, turns)
            await serve(Verifier(folder, repositories, environments))
        finally:
            await sandbox.close()


if __name__ == "__main__":
    asyncio.run(main())
