"""Fixtures for the tests of repositories."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from support.graph.graphs import call
from support.graph.tool_runs import Used, use
from support.servers.git_repositories import Repository, clone_repository, create_repository

from agents.ports.repository import RepositoryFacts
from cli.repository.apply import apply
from jobs.blobs.directory import DirectoryBlobs
from jobs.model.spec import Repo
from sandbox.local import LocalSandbox
from sandbox.protocol import Limits
from settings.repositories import RepositorySettings
from worker.adapters.workspace import ManifestWorkspace
from worker.repositories.base import CommitBase
from worker.repositories.source import Repositories


class Uploads:
    """Repositories with the settings of a test, and the calls of a job that uploads a bundle."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loaded = 0

    def repositories(self, **settings: object) -> Repositories:
        return Repositories(self.folder, RepositorySettings.model_validate(settings))

    async def commit(self, bundle: bytes, ref: str | None = None, **settings: object) -> str:
        repo = Repo(ref=ref, bundle=hashlib.sha256(bundle).hexdigest())
        return await self.repositories(**settings).commit(repo, self._upload(bundle))

    async def base(self, bundle: bytes, ref: str | None = None, **settings: object) -> CommitBase:
        repo = Repo(ref=ref, bundle=hashlib.sha256(bundle).hexdigest())
        repositories = self.repositories(**settings)
        commit = await repositories.commit(repo, self._upload(bundle))
        return await repositories.base(repo, commit, self._upload(bundle))

    def layer(self, base: CommitBase) -> Path:
        return self.repositories().layers / base.layer

    def _upload(self, bundle: bytes) -> Callable[[], object]:
        async def load() -> bytes:
            self.loaded += 1
            return bundle

        return load


class Job:
    """A job on the repository; the test chooses its calls."""

    def __init__(
        self, repository: Repository, uploads: Uploads, sandbox: LocalSandbox, folder: Path
    ):
        self.repository, self.uploads, self.sandbox = repository, uploads, sandbox
        self.folder = folder
        self.workspace: ManifestWorkspace

    async def load_base(self) -> CommitBase:
        return await self.uploads.base(self.repository.bundle())

    async def use(self, *calls: object) -> Used:
        base = await self.load_base()
        self.workspace = await ManifestWorkspace.on_commit(
            DirectoryBlobs(self.folder / "blobs"), None, base
        )
        return await use(
            self.folder / "recording",
            self.sandbox,
            *calls,  # type: ignore[arg-type]
            limits=Limits(wall_seconds=60.0),
            workspace=self.workspace,
            repository=RepositoryFacts(base.commit, len(base.entries)),
        )

    async def apply_patch_to_clone(self) -> Repository:
        """A clone with its submodules, with the patch applied."""
        patch = await self.workspace.patch()
        assert patch is not None
        clone = clone_repository(self.repository, self.folder / "clone")
        allowed = ("-c", "protocol.file.allow=always")
        clone.git(*allowed, "submodule", "--quiet", "update", "--init", "--recursive")
        if patch.content:
            assert apply(clone.folder, patch.content, self.workspace.base.base.commit)  # type: ignore[union-attr]
        return clone

    def tree_of_clone(self, *commands: str) -> str:
        """The tree of a clone in which these commands have run."""
        clone = clone_repository(self.repository, self.folder / "expected")
        for command in commands:
            subprocess.run(["bash", "-ec", command], cwd=clone.folder, check=True)
        clone.git("add", "--all")
        return clone.git("write-tree")


def shell(command: str) -> object:
    return call("shell", command=command)


@contextlib.asynccontextmanager
async def sandbox_over(layers: Path) -> AsyncIterator[LocalSandbox]:
    """A sandbox with these layers for its runs."""
    python = Path(sys.prefix) / "sandbox" / "bin" / "python"
    backend = LocalSandbox(python, trees_directory=layers)
    yield backend
    await backend.close()


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path / "repositories")


@pytest.fixture
def project(tmp_path: Path) -> Repository:
    return create_repository(tmp_path / "project")
