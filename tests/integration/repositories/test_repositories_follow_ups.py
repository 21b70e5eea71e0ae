"""The start of a follow-up: the commit that it works on, by the present branches of the host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.jobs.job_examples import queued
from support.servers.git_repositories import Repository
from support.servers.git_server import GitServer, git_server

from jobs.blobs.directory import DirectoryBlobs
from jobs.blobs.manifest import Manifest, load, save
from jobs.model.record import Continuation, JobRecord
from jobs.model.spec import EarlierChange, JobSpec, Repo
from settings.repositories import RepositorySettings
from worker.repositories import merges
from worker.repositories.continuation import Beginning, Begun
from worker.repositories.errors import RepositoryRefused
from worker.repositories.source import Repositories

LINES = b"".join(b"%d\n" % number for number in range(1, 30))
BRANCH = "fettle/j0"
ONE = LINES.replace(b"2\n", b"two\n", 1)
BOTH = ONE.replace(b"20\n", b"twenty\n")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path) as server:
        yield server


@dataclass
class Conversation:
    """The earlier job has replaced line 2 of a.txt. The change has the commit `commit` on the
    branch fettle/j0 of the host, if it was delivered."""

    project: Repository
    repositories: Repositories
    blobs: DirectoryBlobs
    repo: Repo
    change: EarlierChange
    commit: str

    @property
    def root(self) -> str:
        return self.change.base

    def begin_on(self, branch: str, files: Mapping[str, bytes]) -> str:
        """Commit to a branch of the host, and return to main."""
        self.project.git("checkout", "--quiet", branch)
        commit = self.project.commit(files)
        self.project.git("checkout", "--quiet", "main")
        return commit

    async def choose(self, *, carried: str | None = None, **fields: object) -> Begun:
        start = Beginning(
            self.record(**fields), self.repositories, self.blobs, self.change, carried
        )
        return await start.choose()

    def record(self, **fields: object) -> JobRecord:
        spec = replace(JobSpec("Go on", repo=self.repo), **fields)
        return replace(queued("j1"), spec=spec, workspace=spec.workspace)

    async def start(self, **fields: object) -> tuple[str | None, dict[str, bytes], Continuation]:
        """(the commit, the first files, the recorded start) of a follow-up."""
        begun = await self.choose(**fields)
        manifest = await load(self.blobs, begun.workspace)
        assert begun.continues is not None
        assert begun.continues.workspace == begun.workspace
        return manifest.base, await self.contents(manifest), begun.continues

    async def contents(self, manifest: Manifest) -> dict[str, bytes]:
        return {path: await self.blobs.get(entry.digest) for path, entry in manifest.files.items()}

    async def next_change(self, start: Continuation, files: Mapping[str, bytes]) -> str:
        """The change of a follow-up with this start, delivered to its branch; returns the
        commit."""
        head = (await load(self.blobs, start.workspace)).base or ""
        base = await self.repositories.base(self.repo, head)
        signed = {"branch": "fettle/j1", "message": "x", "author": "A <a@b>", "at": 2}
        bundle = await base.bundle(files, frozenset(), **signed)  # type: ignore[arg-type]
        (self.project.folder / "b.bundle").write_bytes(bundle)
        self.project.git("fetch", "--quiet", "b.bundle", f"+fettle/j1:{start.branch}")
        (self.project.folder / "b.bundle").unlink()
        digest = await self.blobs.put(bundle)
        self.change = EarlierChange("j1", digest, head, start.branch, start.root)
        return self.project.git("rev-parse", start.branch or "")


@pytest.fixture
async def conversation(project: Repository, host: GitServer, tmp_path: Path) -> Conversation:
    project.commit({"a.txt": LINES, "b.txt": b"1\n", ".gitignore": b"*.env\n"})
    settings = RepositorySettings.model_validate({"repo_hosts": (host.listed,)})
    repositories, repo = Repositories(tmp_path / "kept", settings), Repo(host.url("project/.git"))
    repo = replace(repo, ref="main")
    commit, blobs = await repositories.commit(repo), DirectoryBlobs(tmp_path / "blobs")
    base = await repositories.base(repo, commit)
    signed = {"branch": BRANCH, "message": "x", "author": "A <a@b>", "at": 1}
    bundle = await base.bundle({"a.txt": ONE}, frozenset(), **signed)  # type: ignore[arg-type]
    (tmp_path / "j0.bundle").write_bytes(bundle)
    project.git("fetch", "--quiet", str(tmp_path / "j0.bundle"), f"{BRANCH}:{BRANCH}")
    change = EarlierChange("j0", await blobs.put(bundle), commit, branch=BRANCH)
    delivered = project.git("rev-parse", BRANCH)
    return Conversation(project, repositories, blobs, repo, change, delivered)


async def test_a_delivered_change_is_continued_on_its_branch(conversation: Conversation) -> None:
    assert await conversation.start() == (
        conversation.commit,
        {},
        Continuation(
            conversation.change,
            (await conversation.choose()).workspace,
            conversation.root,
            conversation.root,
            BRANCH,
        ),
    )
    edited = {"a.txt": ONE.replace(b"two\n", b"2nd\n")}
    head = conversation.begin_on(BRANCH, edited)
    target = conversation.begin_on("main", {"b.txt": b"2\n"})
    commit, files, start = await conversation.start()
    assert (commit, files, start.merged) == (head, {}, False), "their edit of our line stays"
    assert (start.target, start.root, start.branch) == (target, conversation.root, BRANCH)


async def test_a_branch_without_the_change_gets_the_change_again(
    conversation: Conversation,
) -> None:
    conversation.project.git("branch", "--force", BRANCH, conversation.root)
    head = conversation.begin_on(BRANCH, {"b.txt": b"3\n"})
    commit, files, start = await conversation.start()
    assert (commit, files, start.merged) == (head, {"a.txt": ONE}, True)


async def test_a_target_with_the_change_ends_the_branch(conversation: Conversation) -> None:
    """As a squash, and as a merge although later commits have changed the same line."""
    squash = conversation.begin_on("main", {"a.txt": ONE, "b.txt": b"2\n"})
    begun = await conversation.choose()
    assert begun.continues is None
    assert await load(conversation.blobs, begun.workspace) == Manifest(base=squash)
    conversation.project.git("reset", "--quiet", "--hard", conversation.root)
    conversation.project.git("merge", "--quiet", "--no-ff", "-m", "Merge", BRANCH)
    later = conversation.begin_on("main", {"a.txt": ONE.replace(b"two\n", b"2nd\n")})
    begun = await conversation.choose()
    assert begun.continues is None
    assert (await load(conversation.blobs, begun.workspace)).base == later


@pytest.mark.parametrize("is_delivered", [True, False])
async def test_a_change_without_a_branch_is_merged_onto_the_target(
    conversation: Conversation, is_delivered: bool
) -> None:
    if is_delivered:
        conversation.project.git("branch", "-D", BRANCH)
    else:
        conversation.change = replace(conversation.change, branch=None)
    commit, files, start = await conversation.start()
    assert (commit, files) == (conversation.root, {"a.txt": ONE}), "the target need not move"
    target = conversation.begin_on("main", {"a.txt": LINES.replace(b"2\n", b"zwei\n", 1)})
    commit, files, start = await conversation.start()
    assert (commit, start.root, start.branch, start.merged) == (target, target, None, True)
    assert b"<<<<<<< repository\nzwei\n=======\ntwo\n>>>>>>> approved-change\n" in files["a.txt"]
    assert "Merge conflict in a.txt" in start.conflicts[0]


async def test_all_changes_of_a_branch_count_and_not_only_the_last(
    conversation: Conversation,
) -> None:
    """The third job undoes a part of the second, so main has all that the third job changed."""
    root = conversation.root
    _, _, start = await conversation.start()
    second = await conversation.next_change(start, {"a.txt": BOTH})
    _, _, start = await conversation.start()
    third = await conversation.next_change(start, {"a.txt": ONE})
    assert conversation.project.git("rev-parse", f"{third}^") == second
    commit, files, start = await conversation.start()
    assert (commit, files, start.root, start.branch) == (third, {}, root, BRANCH)
    conversation.project.git("branch", "-D", BRANCH)
    target = conversation.begin_on("main", {"b.txt": b"2\n"})
    commit, files, start = await conversation.start()
    assert (commit, files, start.branch) == (target, {"a.txt": ONE}, None)
    conversation.begin_on("main", {"a.txt": ONE})
    assert (await conversation.choose()).continues is None


async def test_a_rebase_delivers_the_changes_of_a_deleted_branch_to_an_unmoved_target(
    conversation: Conversation,
) -> None:
    root, (_, _, start) = conversation.root, await conversation.start()
    await conversation.next_change(start, {"a.txt": BOTH})
    with pytest.raises(RepositoryRefused, match="there is nothing to rebase"):
        await conversation.start(rebase=conversation.change)
    conversation.project.git("branch", "-D", BRANCH)
    commit, files, start = await conversation.start(rebase=conversation.change)
    assert (commit, files, start.branch) == (root, {"a.txt": BOTH}, None)


@pytest.mark.parametrize("path", ["key.env", "link", "vendor"])
async def test_what_no_job_can_deliver_is_named_and_not_dropped(
    conversation: Conversation, path: str
) -> None:
    """A person has added an ignored file, a link that leads out, or a submodule to the branch."""
    project = conversation.project
    project.git("checkout", "--quiet", BRANCH)
    if path == "link":
        (project.folder / path).symlink_to("/etc/hosts")
    if path == "vendor":
        project.git("update-index", "--add", "--cacheinfo", f"160000,{'5' * 40},{path}")
        project.git("commit", "--quiet", "-m", "Add")
    else:
        project.commit({"key.env": b"1\n"} if path == "key.env" else {})
    project.git("checkout", "--quiet", "--force", "main")
    _, _, start = await conversation.start()
    await conversation.next_change(start, {"a.txt": BOTH})
    conversation.begin_on("main", {"b.txt": b"2\n"})
    _, files, start = await conversation.start()
    assert (files, start.branch) == ({}, BRANCH)
    for merge in ({"rebase": conversation.change}, {}):
        with pytest.raises(RepositoryRefused, match=f"no job can carry '{path}' to"):
            await conversation.choose(**merge)
        if project.git("branch", "--list", BRANCH):
            project.git("branch", "-D", BRANCH)


async def test_only_the_last_change_is_merged_onto_a_target_with_the_others(
    conversation: Conversation,
) -> None:
    """Both jobs have changed the same line."""
    _, _, start = await conversation.start()
    again = ONE.replace(b"two\n", b"2nd\n")
    await conversation.next_change(start, {"a.txt": again})
    conversation.project.git("branch", "-D", BRANCH)
    target = conversation.begin_on("main", {"a.txt": ONE, "b.txt": b"2\n"})
    commit, files, start = await conversation.start()
    assert (commit, files, start.conflicts) == (target, {"a.txt": again}, ())


async def test_a_branch_that_merged_its_target_is_complete_after_a_squash(
    conversation: Conversation,
) -> None:
    project = conversation.project
    target = conversation.begin_on("main", {"b.txt": b"2\n"})
    project.git("checkout", "--quiet", BRANCH)
    project.git("merge", "--quiet", "-m", "Update", "main")
    project.git("checkout", "--quiet", "main")
    _, _, start = await conversation.start()
    assert start.root == target
    await conversation.next_change(start, {"new.txt": b"1\n"})
    conversation.begin_on("main", {"a.txt": ONE, "new.txt": b"1\n", "b.txt": b"3\n"})
    assert (await conversation.choose()).continues is None


async def test_ignored_files_stay_and_files_of_the_request_replace_merged_files(
    conversation: Conversation,
) -> None:
    left = {"test.env": b"KEY=1\n", "kept.txt": b"1\n"}
    sent = {"a.txt": b"sent\n", "c.txt": b"1\n"}
    conversation.project.git("branch", "-D", BRANCH)
    _, files, _ = await conversation.start(
        carried=await save(conversation.blobs, left),
        workspace=await save(conversation.blobs, sent),
    )
    assert files == {"test.env": b"KEY=1\n", **sent}


async def test_a_new_upload_may_lack_the_commit_of_the_change(
    conversation: Conversation,
) -> None:
    """As after `--dirty`: the commit of the earlier job was only in the first upload."""
    blobs, project = conversation.blobs, conversation.project
    first = await blobs.put(project.bundle("main"))
    conversation.change = replace(conversation.change, branch=None, upload=first)
    project.git("checkout", "--quiet", "--orphan", "other")
    target = project.commit({"b.txt": b"2\n"})
    second = await blobs.put(project.bundle("other"))
    conversation.repo = Repo(bundle=second, ref="other")
    commit, files, start = await conversation.start()
    assert (commit, files) == (target, {"a.txt": ONE})
    project.commit({"a.txt": ONE})
    conversation.repo = Repo(bundle=await blobs.put(project.bundle("other")), ref="other")
    assert (await conversation.choose()).continues is None
    assert start.branch is None


async def test_an_old_git_is_refused_unless_the_history_suffices(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merges, "version", lambda: (2, 37, 1))
    with pytest.raises(RepositoryRefused, match=r"a follow-up .* git 2\.38 or newer"):
        await conversation.choose()
    conversation.project.git("merge", "--quiet", BRANCH)
    assert (await conversation.choose()).continues is None


async def test_a_commit_that_the_host_no_longer_has_is_named(
    conversation: Conversation,
) -> None:
    conversation.change = replace(conversation.change, base="d" * 40, branch=None)
    with pytest.raises(RepositoryRefused, match="no longer has the commit"):
        await conversation.choose()
