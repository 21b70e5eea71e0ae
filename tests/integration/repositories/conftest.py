"""Fixtures for the tests of repositories."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from support.servers.git_repositories import Repository, create_repository

from jobs.model.spec import Repo
from settings.repositories import RepositorySettings
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


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path / "repositories")


@pytest.fixture
def project(tmp_path: Path) -> Repository:
    return create_repository(tmp_path / "project")
