"""A job's repository: its commit, its files, its facts for prompts, and the change at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from agents.paths import outline, visible
from agents.ports import Workspace
from agents.ports.environment import SandboxEnvironment
from agents.ports.repository import RepositoryFacts
from agents.runs.project_tests import configuration_paths, project_tests, suite_layout
from agents.texts import head_and_tail
from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import load
from jobs.model.record import JobRecord, PatchRef
from jobs.model.review_data import OwnersData
from worker.adapters.base import BaseFiles, CommitTree
from worker.adapters.workspace import ManifestWorkspace
from worker.delivery.texts import message
from worker.repositories import codeowners
from worker.repositories.base import CommitBase
from worker.repositories.setups.detected import Setup
from worker.repositories.setups.setup import Installed
from worker.repositories.source import Repositories

MAX_LAYOUT_NAMES = 60
MAX_MISSING = 20
"""The LFS pointers and submodules that texts name."""
GUIDANCE = (
    "AGENTS.md",
    "CLAUDE.md",
    "CONTRIBUTING.md",
    "CONTRIBUTING.rst",
    ".github/CONTRIBUTING.md",
)
GUIDANCE_CHARACTERS = 6_000
"""The limit of each text of guidance; all together may have twice as many characters."""
CONFIGURATION_BYTES = 256 * 1024
BRANCH = "fettle/"


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A job's stored change."""

    patch: PatchRef
    bundle: str
    """The digest of a git bundle with one commit on `fettle/JOB`."""


async def base_of(record: JobRecord, repositories: Repositories, blobs: Blobs) -> CommitTree | None:
    """The files of the commit that the job works on. The first attempt resolves the commit; later
    it is in the job's workspace. None for a job without a repository.

    Raises worker.repositories.errors.RepositoryRefused.
    """
    repo = record.spec.repo
    if repo is None:
        return None
    upload = partial(blobs.get, repo.bundle) if repo.bundle else None
    commit = (await load(blobs, record.workspace)).base
    if commit is None:
        commit = await repositories.commit(repo, upload, record.tenant)
    return await repositories.base(repo, commit, upload, record.tenant)


async def restart_record(record: JobRecord, blobs: Blobs) -> JobRecord:
    """The record of a job that starts again: with the same first files, on the same commit."""
    start = record.continues.workspace if record.continues else record.start
    if start is not None:
        return replace(record, workspace=start)
    commit = (await load(blobs, record.workspace)).base
    if commit is None:
        return replace(record, workspace=record.spec.workspace)
    manifest = replace(await load(blobs, record.spec.workspace), base=commit)
    return replace(record, workspace=await blobs.put(manifest.dump()))


async def facts_of(
    workspace: ManifestWorkspace,
    environment: SandboxEnvironment,
    setup: Installed | Setup | None = None,
) -> RepositoryFacts | None:
    """The facts of the repository for prompts, equal in all attempts. `setup` installed its
    dependencies, or would have installed them."""
    files = workspace.base
    if files is None:
        return None
    sizes = files.followed()
    texts = {name: await _text(files, name, sizes) for name in configuration_paths(sizes)}
    programs = (*environment.programs, *environment.runners)
    layout = suite_layout(files.sizes, texts)
    return RepositoryFacts(
        commit=files.base.commit,
        files=len(files.base.entries),
        layout=_layout(files.sizes),
        guidance=await _guidance(files, sizes),
        verify=project_tests(sizes, texts, programs),
        test_directories=layout.directories,
        test_names=layout.names,
        setup=setup.command if setup else "",
        installed=isinstance(setup, Installed),
        missing=missing_content(files),
    )


def missing_content(files: BaseFiles) -> tuple[str, ...]:
    """The submodules and LFS objects of the commit that the job does not have, with the reasons:
    sentences for people and models."""
    submodules = sorted(files.base.submodules.missing.items())
    texts = [
        f"the submodule {visible(path)} is not checked out: {reason}"
        for path, reason in submodules[:MAX_MISSING]
    ]
    if len(submodules) > MAX_MISSING:
        texts.append(f"{len(submodules) - MAX_MISSING} more submodules are not checked out")
    return (*texts, *_lfs_texts(files))


def _lfs_texts(files: BaseFiles) -> Iterator[str]:
    pointers = sorted(files.base.pointers)
    if not pointers:
        return
    names = ", ".join(map(visible, pointers[:MAX_MISSING]))
    more = f" and {len(pointers) - MAX_MISSING} more" if len(pointers) > MAX_MISSING else ""
    noun = "file is a pointer" if len(pointers) == 1 else "files are pointers"
    yield f"{len(pointers)} {noun} of Git LFS, whose content is not here: {names}{more}"


def _layout(sizes: Mapping[str, int]) -> tuple[str, ...]:
    names = outline(sizes, ".", 2, MAX_LAYOUT_NAMES) or []
    more = [f"and {len(names) - MAX_LAYOUT_NAMES} more"] if len(names) > MAX_LAYOUT_NAMES else []
    return (*map(visible, names[:MAX_LAYOUT_NAMES]), *more)


async def _guidance(files: BaseFiles, sizes: Mapping[str, int]) -> tuple[tuple[str, str], ...]:
    guidance: dict[str, str] = {}
    remaining = 2 * GUIDANCE_CHARACTERS
    for name in GUIDANCE:
        if name not in sizes or remaining <= 0:
            continue
        text = head_and_tail(await _text(files, name, sizes), min(GUIDANCE_CHARACTERS, remaining))
        if text.strip() and text not in guidance.values():
            guidance[name] = text
            remaining -= len(text)
    return tuple(guidance.items())


async def _text(files: BaseFiles, name: str, sizes: Mapping[str, int]) -> str:
    if sizes[name] > CONFIGURATION_BYTES:
        return ""
    return (await files.read(name) or b"").decode(errors="replace")


async def store_change(
    record: JobRecord, workspace: Workspace, blobs: Blobs, answer: str, author: str
) -> StoredChange | None:
    """Store the change of the job in its repository; None if there is no change or no repository.
    Equal files and answers give equal bytes in all attempts.

    Raises worker.repositories.errors.RepositoryRefused.
    """
    assert isinstance(workspace, ManifestWorkspace)  # noqa: S101 - the port's type is wider
    patch = await workspace.patch()
    if patch is None or not patch.files or workspace.base is None:
        return None
    bundle = await workspace.bundle(
        branch=f"{BRANCH}{record.id}",
        message=message(record.id, record.spec.task, answer),
        author=author,
        at=record.created_at // 1000,
    )
    size, base = len(patch.content), workspace.base.base.commit
    digest = await blobs.put(patch.content)
    counts = (patch.files, patch.insertions, patch.deletions)
    ref = PatchRef(digest, size, *counts, base, patch.lfs[:MAX_MISSING])
    return StoredChange(ref, await blobs.put(bundle or b""))


async def owners_of_change(workspace: Workspace) -> list[OwnersData]:
    """The owners of the changed files, by CODEOWNERS of the job's commit: the job's own version of
    the file does not count. Empty without a repository."""
    assert isinstance(workspace, ManifestWorkspace)  # noqa: S101 - the port's type is wider
    if (files := workspace.base) is None:
        return []
    sizes = files.followed()
    name = next((path for path in codeowners.PATHS if path in sizes), None)
    text = await _text(files, name, sizes) if name else ""
    paths = await workspace.delivered_paths()
    return await asyncio.to_thread(codeowners.find_owners, text, paths)


def commit_base(workspace: Workspace) -> CommitBase:
    """The commit of a job on a repository."""
    files = workspace.base if isinstance(workspace, ManifestWorkspace) else None
    base = files.base if files else None
    assert isinstance(base, CommitBase)  # noqa: S101 - the port's types are wider
    return base
