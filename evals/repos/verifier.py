"""`python -m evals.repos.verifier`: the verifier's process, see `evals.repos.verifying`.

A line of stdin is an order: {number, task, candidate, patch?}. `candidate` is `fix` (the shipped
one), `none` or `patch`; or `bundle`, for the path of the task's bundle. A line of stdout is the
answer: {number, passed, why, failing, note?, untried?}, {number, bundle, commit}, or {number,
error}.
`untried`: a patch or the environment is at fault, and no test has run.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from evals.repos import packages, project
from evals.repos.packages import NoPackages, Target
from evals.repos.project import Backend, Installed
from evals.repos.pytest_run import LIMITS, Ran, Tree, run_tests
from evals.repos.task import RepoTask
from evals.repos.trees import Changed, Patches, PatchRefused
from jobs.model.spec import Repo
from sandbox.protocol import Sandbox, SandboxUnavailable
from settings.repositories import RepositorySettings
from settings.sandbox import SandboxSettings
from worker.adapters.backend import backend
from worker.repositories.errors import RepositoryRefused
from worker.repositories.source import Repositories

RUNS_AT_ONCE = min(os.cpu_count() or 1, 8)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task's repository, and the tree of its base with its environment."""

    patches: Patches
    tree: Tree
    base: Any
    note: str | None


@dataclass(slots=True)
class Verifier:
    """Verifies tasks in `sandbox`. What it makes for them lies in `folder`, and is kept as long."""

    folder: Path
    repositories: Repositories
    sandbox: Sandbox
    _made: dict[tuple[Any, ...], asyncio.Future[Any]] = field(default_factory=dict)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(RUNS_AT_ONCE))

    async def answer(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to an order."""
        task = RepoTask.from_fields(order["task"])
        try:
            if order["candidate"] == "bundle":
                patches = await self._once(self._open, task)
                return {"bundle": str(await self._bundle(task)), "commit": patches.commit}
            return await self._verdict(task, order["candidate"], order.get("patch", ""))
        except (NoPackages, PatchRefused, RepositoryRefused) as error:
            return {"passed": False, "why": str(error), "failing": [], "untried": True}
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
        async with self._turns:
            ran = await run_tests(self.sandbox, task, _over(prepared.tree, changed))
        return {**judged(task, ran), "note": prepared.note}

    async def _bundle(self, task: RepoTask) -> Path:
        """The task's bundle; one of a mirror is made."""
        if task.base.bundle is not None:
            return Path(task.base.bundle)
        path = self.folder / f"{_key(task)}.bundle"
        await self._once(self._write_bundle, task, path)
        return path

    async def _write_bundle(self, task: RepoTask, path: Path) -> None:
        assert task.base.mirror is not None
        await (await self._once(self._open, task)).bundle(path, Path(task.base.mirror))

    async def _open(self, task: RepoTask) -> Patches:
        return await Patches.opened(self.folder / f"{_key(task)}.git", task.base)

    async def _prepare(self, task: RepoTask) -> Prepared:
        """The task's repository and environment."""
        wanted = packages.requirements(task.setup)
        patches = await self._once(self._open, task)
        content = await asyncio.to_thread((await self._bundle(task)).read_bytes)
        repo = Repo(bundle=sha256(content).hexdigest(), ref=patches.commit)

        async def upload() -> bytes:
            return content

        commit = await self.repositories.commit(repo, upload)
        base = await self.repositories.base(repo, commit, upload)
        layer = await self._once(self._packages, tuple(wanted), packages.FOLDER)
        installed = await self._installed(base, layer)
        return Prepared(patches, project.over(base.layer, layer, installed), base, installed.note)

    async def _packages(self, wanted: tuple[str, ...], folder: str) -> str | None:
        if not wanted:
            return None
        of, layers = await self._once(self._target), self.repositories.layers
        return await packages.layer(layers, wanted, of, folder=folder)

    async def _target(self) -> Target:
        return await packages.target(self.sandbox)

    async def _installed(self, base: Any, layer: str | None) -> Installed:
        """The project; one that its backend cannot be got for is not installed."""
        found = project.declared(await base.read("pyproject.toml"), base.entries.keys())
        if isinstance(found, Installed):
            return found
        made = await self._built(found, base, layer, ask=True)
        if isinstance(made, Backend):
            made = await self._built(made, base, layer, ask=False)
        assert isinstance(made, Installed)
        return made

    async def _built(
        self, asked: Backend, base: Any, layer: str | None, *, ask: bool
    ) -> Installed | Backend:
        note = None
        try:
            own = await self._once(self._packages, asked.requires, project.BUILD)
        except NoPackages as error:  # the sandbox may have it
            own, note = None, f"the project could not be built: {error}"
        layers = tuple(filter(None, (own, layer, base.layer)))
        async with self._turns:
            made = await project.built(self.sandbox, asked, layers, base.entries.keys(), ask=ask)
        if isinstance(made, Installed) and made.note:
            return replace(made, note=note or made.note)
        return made

    async def _once(self, make: Callable[..., Awaitable[Any]], *about: Any) -> Any:
        """What `make` returns, which is called once for the same arguments."""
        key = (make.__name__, *about)
        if key not in self._made:
            self._made[key] = asyncio.ensure_future(make(*about))
        return await asyncio.shield(self._made[key])


def judged(task: RepoTask, ran: Ran) -> dict[str, Any]:
    """The verdict on a run. `failing` are those of fail_to_pass that have not passed. Pure."""
    why = ran.why_not((*task.fail_to_pass, *task.pass_to_pass))
    failing = [name for name in task.fail_to_pass if not ran.passed(name)]
    return {"passed": why is None, "why": why or "", "failing": failing}


def _over(tree: Tree, changed: Changed) -> Tree:
    files = {**tree.files, **changed.files}
    return replace(tree, files=files, removed=changed.removed - set(files))


def _key(task: RepoTask) -> str:
    return sha256(task.id.encode()).hexdigest()[:32]


async def serve(verifier: Verifier) -> None:
    """Answer orders as they are done, until stdin ends."""
    under_way: set[asyncio.Task[None]] = set()

    async def one(order: Mapping[str, Any]) -> None:
        answer = await verifier.answer(order)
        sys.stdout.write(json.dumps({"number": order["number"], **answer}) + "\n")
        sys.stdout.flush()

    while line := await asyncio.to_thread(sys.stdin.readline):
        task = asyncio.create_task(one(json.loads(line)))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    await asyncio.gather(*under_way)


async def main() -> None:
    """Serve with what FETTLE_SANDBOX names. Repositories are kept in a folder of this process."""
    with tempfile.TemporaryDirectory(prefix="fettle-repos-") as name:
        folder = Path(name)
        repositories = Repositories(folder, RepositorySettings())
        settings = SandboxSettings(sandbox_rooms=0)
        sandbox = backend(settings, ready_for=LIMITS, layers=repositories.layers)
        try:
            await serve(Verifier(folder, repositories, sandbox))
        finally:
            await sandbox.close()


if __name__ == "__main__":
    asyncio.run(main())
