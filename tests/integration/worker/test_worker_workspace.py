"""A workspace over the files of a repository's commit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.graph.fixed_base import COMMIT, FixedBase
from support.jobs.job_examples import queued

from agents.evidence.changes import changed_files, code_under_test, reverted
from agents.paths import own_files
from agents.ports.environment import SandboxEnvironment
from agents.tree import Tree
from jobs.blobs.directory import DirectoryBlobs
from jobs.blobs.manifest import Manifest, load, save
from worker.adapters.repository import facts_of, restart_record
from worker.adapters.workspace import ManifestWorkspace

FILES = {"app/main.py": b"print(1)\n", "app/old.py": b"", "README.md": b"# App\n"}
BASE = FixedBase(FILES, links={"docs": "src"})


@pytest.fixture
def blobs(tmp_path: Path) -> DirectoryBlobs:
    return DirectoryBlobs(tmp_path)


async def test_the_files_are_those_of_the_commit_with_the_changes_applied(
    blobs: DirectoryBlobs,
) -> None:
    workspace = await ManifestWorkspace.on_commit(blobs, None, BASE)
    assert dict(workspace.list()) == {"README.md": 6, "app/main.py": 9, "app/old.py": 0}
    assert await workspace.tree() == Tree({}, ("repo-fixed",))
    artifacts = await workspace.apply(
        {"app/main.py": b"print(2)\n", "app/new.py": b"x = 1\n"}, frozenset({"app/old.py", "docs"})
    )
    assert [item.name for item in artifacts] == ["app/main.py", "app/new.py"]
    assert list(workspace.list()) == ["README.md", "app/main.py", "app/new.py"]
    assert await workspace.read("app/main.py") == b"print(2)\n"
    assert await workspace.original("app/main.py") == b"print(1)\n"
    assert await workspace.read("app/old.py") is None
    assert await workspace.read("README.md") == b"# App\n"
    changed = {"app/main.py": b"print(2)\n", "app/new.py": b"x = 1\n"}
    removed = frozenset({"app/old.py", "docs"})
    assert await workspace.tree() == Tree(changed, ("repo-fixed",), removed)
    assert set(workspace.changed()) == {*changed, *removed}


async def test_a_file_that_equals_the_commits_is_no_change(blobs: DirectoryBlobs) -> None:
    workspace = await ManifestWorkspace.on_commit(blobs, None, BASE)
    before = workspace.digest
    await workspace.apply({"app/main.py": b"print(2)\n", "made.py": b""}, frozenset({"app/old.py"}))
    await workspace.apply({"app/main.py": b"print(1)\n", "app/old.py": b""}, frozenset({"made.py"}))
    assert (workspace.digest, list(workspace.changed())) == (before, [])


async def test_a_file_that_an_earlier_job_deleted_is_no_change(blobs: DirectoryBlobs) -> None:
    workspace = await ManifestWorkspace.on_commit(blobs, None, BASE)
    await workspace.apply({}, frozenset({"app/old.py"}))
    of_job: Any = {"job": {"start": workspace.digest}, "artifacts": {}}
    await workspace.apply({"app/main.py": b"print(2)\n"})
    changed = await changed_files(of_job, workspace)
    assert [(item.path, item.before, item.after) for item in changed] == [
        ("app/main.py", b"print(1)\n", b"print(2)\n")
    ]
    await workspace.apply({"app/old.py": b"x = 1\n"})
    (_, again) = await changed_files(of_job, workspace)
    assert (again.path, again.before, again.after) == ("app/old.py", None, b"x = 1\n")
    tree = reverted(await workspace.tree(), [again])
    assert (set(tree.files), tree.removed) == ({"app/main.py"}, {"app/old.py"})


async def test_the_tests_of_a_repository_import_its_own_code(
    blobs: DirectoryBlobs,
) -> None:
    workspace = await ManifestWorkspace.on_commit(blobs, None, BASE)
    of_job: Any = {"job": {"start": None}, "artifacts": {}}
    await workspace.apply({"tests/test_main.py": b"def test_it():\n    pass\n"})
    tested = await code_under_test(await changed_files(of_job, workspace), workspace)
    assert tested == {"app/main.py": b"print(1)\n", "app/old.py": b""}
    await workspace.apply({"app/main.py": b"print(2)\n"})
    assert await code_under_test(await changed_files(of_job, workspace), workspace) == {}


async def test_files_below_git_are_not_kept(blobs: DirectoryBlobs) -> None:
    workspace = await ManifestWorkspace.on_commit(blobs, None, BASE)
    own_files = {".git/HEAD": b"x", "app/.Git/config": b"x", ".gitignore": b"*.log\n"}
    artifacts = await workspace.apply(own_files, frozenset({".git/packed-refs", "a\x1bname"}))
    assert [item.name for item in artifacts] == [".gitignore"]
    assert await workspace.tree() == Tree({".gitignore": b"*.log\n"}, ("repo-fixed",))


async def test_another_attempt_loads_the_workspace_by_its_digest(blobs: DirectoryBlobs) -> None:
    submitted_digest = await save(blobs, {"README.md": b"of the request"})
    first = await ManifestWorkspace.on_commit(blobs, submitted_digest, BASE)
    assert await first.read("README.md") == b"of the request"
    await first.apply({"a.py": b"1"}, frozenset({"app/old.py"}))
    assert (await load(blobs, first.digest)).base == COMMIT
    second = await ManifestWorkspace.on_commit(blobs, first.digest, BASE)
    assert await second.tree() == await first.tree()
    fork = second.fork()
    await fork.checkout(None)
    assert await fork.tree() == Tree({}, ("repo-fixed",))
    with pytest.raises(ValueError, match="commit"):
        await ManifestWorkspace.on_commit(blobs, first.digest, FixedBase(FILES, commit="d" * 40))


async def test_a_restart_has_the_recorded_start(blobs: DirectoryBlobs) -> None:
    first = await ManifestWorkspace.on_commit(blobs, await save(blobs, {"docs/a": b"1"}), BASE)
    record = replace(queued(), start=first.digest)
    await first.apply({"README.md": b"changed"})
    again = await restart_record(replace(record, workspace=first.digest), blobs)
    workspace = await ManifestWorkspace.on_commit(blobs, again.workspace, BASE)
    assert dict((await workspace.tree()).files) == {"src/a": b"1"}


async def test_the_patch_has_what_the_job_delivers(blobs: DirectoryBlobs) -> None:
    workspace = await ManifestWorkspace.on_commit(blobs, None, BASE)
    await workspace.apply(
        {"a.py": b"1", ".setup/x.py": b"2", "b.log": b"3"}, frozenset({"app/old.py"})
    )
    patch = await workspace.patch()
    assert patch is not None
    assert patch.content == b"M a.py\nD app/old.py\n"
    signed = {"branch": "fettle/1", "message": "Do it", "author": "A <a@example.org>"}
    bundle = await workspace.bundle(**signed, at=7)
    assert bundle == b"fettle/1\nDo it\nA <a@example.org>\n7\nM a.py\nD app/old.py\n"
    plain = ManifestWorkspace(blobs, Manifest(), None)
    assert (await plain.patch(), await plain.bundle(**signed, at=7)) == (None, None)


async def test_changed_files_have_the_same_order_in_each_process(blobs: DirectoryBlobs) -> None:
    """Prompts list the files, and a call is recalled by its prompt."""
    names = [f"made{number:02}.py" for number in range(20)]
    workspace = await ManifestWorkspace.on_commit(blobs, None, BASE)
    await workspace.apply(dict.fromkeys(reversed(names), b""), frozenset())
    assert list(own_files(workspace)) == names


async def test_the_ci_configuration_names_the_command_of_a_repositorys_tests(
    blobs: DirectoryBlobs,
) -> None:
    files = {".github/workflows/ci.yml": b"    - run: pytest -q lib\r\n", "lib/check.py": b""}
    workspace = await ManifestWorkspace.on_commit(blobs, None, FixedBase(files))
    facts = await facts_of(workspace, SandboxEnvironment())
    assert facts is not None
    assert (facts.verify, facts.setup, facts.installed) == (("pytest", "-q", "lib"), "", False)


async def test_guidance_and_configuration_are_read_through_links(blobs: DirectoryBlobs) -> None:
    files = {"docs/agents.md": b"Be brief.", "ci/pytest.ini": b"[pytest]\n", "test_a.py": b""}
    links = {
        "AGENTS.md": "docs/agents.md",
        "CLAUDE.md": "AGENTS.md",
        "pytest.ini": "/work/ci/pytest.ini",
        "CONTRIBUTING.md": "/etc/passwd",
        ".github": "nowhere",
    }
    workspace = await ManifestWorkspace.on_commit(blobs, None, FixedBase(files, links))
    facts = await facts_of(workspace, SandboxEnvironment())
    assert facts is not None
    assert facts.guidance == (("AGENTS.md", "Be brief."),)
    assert facts.verify == ("pytest",)
