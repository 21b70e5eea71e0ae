"""An approved change is merged onto the current tip of its branch: the first step of a rebase."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.jobs.job_examples import queued
from support.servers.git_repositories import Repository
from support.servers.git_server import GitServer, git_server

from jobs.blobs.directory import DirectoryBlobs
from jobs.blobs.manifest import Manifest, load, save
from jobs.model.record import JobRecord
from jobs.model.spec import EarlierChange, JobSpec, Repo
from settings.repositories import RepositorySettings
from worker.adapters.workspace import ManifestWorkspace
from worker.repositories import merges
from worker.repositories.continuation import Beginning, Begun
from worker.repositories.errors import RepositoryRefused
from worker.repositories.patches import PLAIN, Kinds
from worker.repositories.source import Repositories

NO_FILES: Mapping[str, bytes] = {}
LINES = b"".join(b"%d\n" % number for number in range(1, 10))
FILES = {
    "a.txt": LINES,
    "b.txt": LINES,
    "run.sh": b"#!/bin/sh\n" + LINES,
    "logo.bin": b"\0one",
    ".gitignore": b"*.env\n",
}


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path) as server:
        yield server


@dataclass
class Rebasing:
    """A change against the first commit of `project`; the test then adds commits to `project`."""

    project: Repository
    repositories: Repositories
    blobs: DirectoryBlobs
    repo: Repo

    @classmethod
    def on(cls, project: Repository, forge: GitServer, folder: Path, **settings: object):
        project.write(FILES)
        (project.folder / "run.sh").chmod(0o755)
        project.commit()
        setting_values = {"repo_hosts": (forge.listed,), **settings}
        repositories = Repositories(
            folder / "kept", RepositorySettings.model_validate(setting_values)
        )
        blobs = DirectoryBlobs(folder / "blobs")
        return cls(project, repositories, blobs, Repo(forge.url("project/.git"), "main"))

    async def change(
        self,
        changed_files: Mapping[str, bytes],
        removed: frozenset[str] = frozenset(),
        sent: Mapping[str, bytes] = NO_FILES,
        kinds: Kinds = PLAIN,
    ) -> JobRecord:
        """The rebase of this change, before its start. `sent` are the files that came with the
        task.
        """
        commit = await self.repositories.commit(self.repo)
        base = await self.repositories.base(self.repo, commit)
        signed = {"branch": "fettle/old", "message": "x", "author": "A <a@b>", "at": 1}
        bundle = await base.bundle(changed_files, removed, kinds, **signed)  # type: ignore[arg-type]
        of = EarlierChange("old", await self.blobs.put(bundle), commit)
        workspace = await save(self.blobs, sent)
        spec = JobSpec("Fix it", repo=self.repo, rebase=of, workspace=workspace)
        return replace(queued("new"), spec=spec, workspace=workspace)

    async def start_rebase(self, record: JobRecord) -> Begun:
        change = record.spec.rebase
        assert change is not None
        start = Beginning(record, self.repositories, self.blobs, change, record.spec.workspace)
        return await start.choose()

    async def changed_files(self, rebase: Begun) -> tuple[dict[str, bytes], set[str]]:
        """The files that differ from the new commit."""
        manifest = await load(self.blobs, rebase.workspace)
        assert manifest.base == self.project.git("rev-parse", "main")
        contents = {
            path: await self.blobs.get(entry.digest) for path, entry in manifest.files.items()
        }
        return contents, set(manifest.removed)


def conflicts_of(start: Begun) -> tuple[str, ...]:
    assert start.continues is not None
    return start.continues.conflicts


@pytest.fixture
def rebasing(project: Repository, forge: GitServer, tmp_path: Path) -> Rebasing:
    return Rebasing.on(project, forge, tmp_path)


async def test_a_clean_merge_has_both_sides_and_is_a_change_of_the_new_commit(
    rebasing: Rebasing,
) -> None:
    changed = {"a.txt": LINES.replace(b"2\n", b"two\n"), "new.txt": b"1\n"}
    record = await rebasing.change(changed, frozenset({"b.txt"}))
    rebasing.project.commit({"a.txt": LINES.replace(b"8\n", b"eight\n"), "other.txt": b"1\n"})
    rebase_start = await rebasing.start_rebase(record)
    both = LINES.replace(b"2\n", b"two\n").replace(b"8\n", b"eight\n")
    assert await rebasing.changed_files(rebase_start) == (
        {"a.txt": both, "new.txt": b"1\n"},
        {"b.txt"},
    )
    assert rebase_start.continues is not None
    assert rebase_start.continues.change == record.spec.rebase
    assert (rebase_start.continues.merged, rebase_start.continues.conflicts) == (True, ())
    base = await rebasing.repositories.base(
        rebasing.repo, rebasing.project.git("rev-parse", "main")
    )
    workspace = await ManifestWorkspace.on_commit(rebasing.blobs, rebase_start.workspace, base)
    patch = await workspace.patch()
    assert patch is not None
    assert (patch.files, b"+two" in patch.content, b"+eight" in patch.content) == (3, True, False)


async def test_links_and_modes_are_merged(rebasing: Rebasing) -> None:
    kinds = Kinds({"run.sh": False, "tool": True}, {"b.txt": "a.txt", "new": "run.sh", "l": "1"})
    record = await rebasing.change({"run.sh": FILES["run.sh"], "tool": b"x\n"}, kinds=kinds)
    rebasing.project.commit({"a.txt": LINES.replace(b"8\n", b"eight\n")})
    rebase = await rebasing.start_rebase(record)
    changed_files, removed = await rebasing.changed_files(rebase)
    assert (changed_files, removed) == ({"run.sh": FILES["run.sh"], "tool": b"x\n"}, set())
    base = await rebasing.repositories.base(
        rebasing.repo, rebasing.project.git("rev-parse", "main")
    )
    workspace = await ManifestWorkspace.on_commit(rebasing.blobs, rebase.workspace, base)
    tree = await workspace.tree()
    assert (tree.executable, tree.links) == ({"run.sh": False, "tool": True}, kinds.links)
    patch = await workspace.patch()
    assert patch is not None
    modes = [line for line in patch.content.splitlines() if b" mode " in line]
    assert sorted(modes) == [
        b"deleted file mode 100644",
        b"new file mode 100755",
        *[b"new file mode 120000"] * 3,
        b"new mode 100644",
        b"old mode 100755",
    ]


async def test_conflicts_are_marked_in_the_files_and_named(rebasing: Rebasing) -> None:
    changed = {
        "a.txt": LINES.replace(b"5\n", b"five\n"),
        "b.txt": LINES + b"10\n",
        "logo.bin": b"\0approved",
        "run.sh": b"#!/bin/sh\n" + LINES.replace(b"1\n", b"one\n"),
    }
    record = await rebasing.change(changed)
    rebasing.project.git("rm", "--quiet", "b.txt")
    rebasing.project.commit({"a.txt": LINES.replace(b"5\n", b"cinq\n"), "logo.bin": b"\0elsewhere"})
    rebase = await rebasing.start_rebase(record)
    changed_files, removed = await rebasing.changed_files(rebase)
    marked = b"<<<<<<< repository\ncinq\n=======\nfive\n>>>>>>> approved-change\n"
    assert changed_files["a.txt"] == LINES.replace(b"5\n", marked)
    assert (changed_files["b.txt"], changed_files["logo.bin"]) == (changed["b.txt"], b"\0approved")
    assert (changed_files["run.sh"], removed) == (changed["run.sh"], set())
    conflict_text = "\n".join(conflicts_of(rebase))
    for words in (
        "Merge conflict in a.txt",
        "b.txt deleted in repository and modified in approved-change",
        "Cannot merge binary files: logo.bin",
    ):
        assert words in conflict_text
    assert "run.sh" not in conflict_text


async def test_the_number_of_named_conflicts_fits_a_prompt(rebasing: Rebasing) -> None:
    names = [f"n{number}.txt" for number in range(43)]
    record = await rebasing.change(dict.fromkeys(names, b"1\n"))
    rebasing.project.commit(dict.fromkeys(names, b"2\n"))
    rebase = await rebasing.start_rebase(record)
    assert len((await rebasing.changed_files(rebase))[0]) == 43
    *named_conflicts, last = conflicts_of(rebase)
    assert (len(named_conflicts), last) == (40, "and 3 more")


async def test_a_renamed_file_is_changed_under_its_new_name(rebasing: Rebasing) -> None:
    changed = {"run.sh": b"#!/bin/sh\nset -e\n" + LINES}
    record = await rebasing.change(changed)
    rebasing.project.git("mv", "run.sh", "start.sh")
    rebasing.project.commit()
    rebase = await rebasing.start_rebase(record)
    assert await rebasing.changed_files(rebase) == ({"start.sh": changed["run.sh"]}, set())
    assert conflicts_of(rebase) == ()


async def test_a_name_that_no_job_can_have_is_reported(rebasing: Rebasing) -> None:
    record = await rebasing.change({"a.txt": LINES + b"10\n"})
    rebasing.project.git("mv", "a.txt", os.fsdecode(b"\xff.txt"))
    rebasing.project.commit()
    with pytest.raises(RepositoryRefused, match=r"has renamed a file of the change to .*udcff"):
        await rebasing.start_rebase(record)


async def test_a_binary_file_that_only_the_change_modified_is_kept(
    rebasing: Rebasing,
) -> None:
    record = await rebasing.change({"logo.bin": b"\0two"})
    rebasing.project.commit({"a.txt": b"1\n"})
    rebase = await rebasing.start_rebase(record)
    assert await rebasing.changed_files(rebase) == ({"logo.bin": b"\0two"}, set())
    assert conflicts_of(rebase) == ()


async def test_a_rebase_without_changes_names_the_reason(rebasing: Rebasing) -> None:
    record = await rebasing.change({"a.txt": b"1\n"}, frozenset({"b.txt"}))
    with pytest.raises(
        RepositoryRefused, match=r"main of .* is still at .*, the commit of the change of job old"
    ):
        await rebasing.start_rebase(record)
    rebasing.project.git("rm", "--quiet", "b.txt")
    rebasing.project.commit({"a.txt": b"1\n", "c.txt": b"1\n"})
    with pytest.raises(RepositoryRefused, match="already has the full change of job old"):
        await rebasing.start_rebase(record)


async def test_a_rebase_of_a_fork_works_on_the_present_commit(rebasing: Rebasing) -> None:
    """The files that a fork starts from name the commit of its original."""
    record = await rebasing.change({"a.txt": LINES + b"10\n"})
    old = await rebasing.repositories.commit(rebasing.repo)
    workspace = await rebasing.blobs.put(Manifest(base=old).dump())
    spec = replace(record.spec, workspace=workspace)
    rebasing.project.commit({"b.txt": b"1\n"})
    rebase = await rebasing.start_rebase(replace(record, spec=spec, workspace=workspace))
    assert await rebasing.changed_files(rebase) == ({"a.txt": LINES + b"10\n"}, set())


async def test_only_ignored_files_of_the_task_are_carried_over(
    rebasing: Rebasing,
) -> None:
    sent = {"test.env": b"KEY=1\n", "note.txt": b"x\n", "gone.txt": b"x\n"}
    record = await rebasing.change({"note.txt": b"y\n"}, sent=sent)
    rebasing.project.commit({"a.txt": b"1\n"})
    contents, _ = await rebasing.changed_files(await rebasing.start_rebase(record))
    assert contents == {"test.env": b"KEY=1\n", "note.txt": b"y\n"}


async def test_a_shallow_mirror_suffices_and_the_branch_may_be_replaced(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    rebasing = Rebasing.on(project, forge, tmp_path, repo_commits=1)
    record = await rebasing.change({"a.txt": LINES + b"10\n"})
    project.git("checkout", "--quiet", "--orphan", "other")
    project.commit({"b.txt": b"1\n"})
    project.git("branch", "--force", "main", "other")
    rebase = await rebasing.start_rebase(record)
    assert await rebasing.changed_files(rebase) == ({"a.txt": LINES + b"10\n"}, set())


async def test_an_old_git_is_refused_with_the_required_version(
    rebasing: Rebasing, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = await rebasing.change({"a.txt": b"1\n"})
    rebasing.project.commit({"b.txt": b"1\n"})
    monkeypatch.setattr(merges, "version", lambda: (2, 37, 1))
    with pytest.raises(
        RepositoryRefused, match=r"git 2\.38 or newer, and this worker has 2\.37\.1"
    ):
        await rebasing.start_rebase(record)
