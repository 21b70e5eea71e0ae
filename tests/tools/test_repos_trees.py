"""Patches over a task's base: the tested files."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from lab.evals.repos.task import Base, RepoTask
from lab.evals.repos.trees import Patches, PatchRefused

PICTURE = bytes(range(256))
BASE = {
    "shop.py": b"A = 1\n",
    "old.py": b"x\n",
    "tests/test_shop.py": b"def test_a():\n    pass\n",
    "tests/logo.png": PICTURE,
}


@dataclass
class Clone:
    """A repository that turns its changes into patches."""

    folder: Path

    def git(self, *words: str) -> bytes:
        fixed = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
        command = ["git", *fixed, *words]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True).stdout

    def patch(self, changes: dict[str, bytes | None]) -> bytes:
        for path, content in changes.items():
            if content is None:
                (self.folder / path).unlink()
            else:
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / path).write_bytes(content)
        self.git("add", "-A")
        patch = self.git("diff", "--cached", "--binary")
        self.git("reset", "-q", "--hard")
        return patch


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    new_clone = Clone(tmp_path / "clone")
    new_clone.folder.mkdir()
    new_clone.git("init", "-q", "-b", "main")
    for path, content in BASE.items():
        (new_clone.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (new_clone.folder / path).write_bytes(content)
    new_clone.git("add", "-A")
    new_clone.git("commit", "-q", "-m", "x")
    new_clone.git("bundle", "create", "-q", str(tmp_path / "base.bundle"), "main")
    return new_clone


@pytest.fixture
def task(clone: Clone) -> RepoTask:
    fix = clone.patch({"shop.py": b"A = 2\n", "old.py": None, "new dir/\xc3\xa9.py": b"y\n"})
    tests = clone.patch({"tests/test_shop.py": b"new\n", "tests/logo.png": PICTURE[::-1]})
    bundle = str(clone.folder.parent / "base.bundle")
    return RepoTask("a", "b", Base(bundle), fix, tests, ("tests/test_shop.py::test_a",))


async def test_the_shipped_fix(task, tmp_path):
    patches = await Patches.opened(tmp_path / "git", task.base)
    tests = {"tests/test_shop.py": b"new\n", "tests/logo.png": PICTURE[::-1]}
    unfixed = await patches.shipped(task, fix=False)
    assert (unfixed.files, unfixed.removed) == (tests, frozenset())
    fixed = await patches.shipped(task, fix=True)
    assert fixed.files == {**tests, "shop.py": b"A = 2\n", "new dir/\xc3\xa9.py": b"y\n"}
    assert fixed.removed == {"old.py"}


async def test_a_job_cannot_change_hidden_tests(clone, task, tmp_path):
    patches = await Patches.opened(tmp_path / "git", task.base)
    changes = {
        "shop.py": b"A = 3\n",
        "tests/logo.png": None,
        "tests/test_shop.py": b"assert True\n",
        "tests/test_other.py": b"mine\n",
    }
    judged = await patches.judged(task, clone.patch(changes))
    assert judged.files["shop.py"] == b"A = 3\n"
    assert judged.files["tests/test_other.py"] == b"mine\n"
    assert judged.files["tests/test_shop.py"] == b"new\n"
    assert judged.files["tests/logo.png"] == PICTURE[::-1]
    assert judged.removed == frozenset()
    nothing = await patches.judged(replace(task, tests=b"\n"), b"")
    assert nothing.files == {}


async def test_a_mirror_next_to_the_lines(clone, task, tmp_path):
    commit = clone.git("rev-parse", "HEAD").decode().strip()
    base = Base(mirror=str(clone.folder / ".git"), commit=commit)
    patches = await Patches.opened(tmp_path / "git", base)
    assert (await patches.shipped(task, fix=True)).removed == {"old.py"}
    clone.git("tag", "v1")
    clone.git("commit", "-q", "--allow-empty", "-m", "the fix")
    clone.git("tag", "v2")
    await patches.bundle(tmp_path / "made.bundle", clone.folder / ".git")
    listed = clone.git("bundle", "list-heads", str(tmp_path / "made.bundle")).decode().split()
    assert listed[1::2] == ["refs/heads/main", "refs/tags/v1"]
    again = await Patches.opened(tmp_path / "again", Base(str(tmp_path / "made.bundle")))
    assert again.commit == commit
    with pytest.raises(PatchRefused, match="repository cannot be read"):
        await Patches.opened(tmp_path / "no", replace(base, commit="0" * 40))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (
            {"fix": b"--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-a\n+b\n"},
            "fix.patch does not apply",
        ),
        ({"tests": b"not a patch"}, "test.patch does not apply"),
    ],
)
async def test_a_patch_that_cannot_be_applied_is_named(task, tmp_path, changed, reason):
    patches = await Patches.opened(tmp_path / "git", task.base)
    with pytest.raises(PatchRefused, match=reason):
        await patches.shipped(replace(task, **changed), fix=True)


async def test_a_bundle_that_is_cut_off(clone, tmp_path):
    path = tmp_path / "base.bundle"
    bundle = path.read_bytes()
    path.write_bytes(bundle[:-30])
    with pytest.raises(PatchRefused, match="repository cannot be read"):
        await Patches.opened(tmp_path / "git", Base(str(path)))
