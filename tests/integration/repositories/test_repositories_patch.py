"""The changes of a job against a commit: a patch and a bundle."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.servers.git_repositories import Repository, clone_repository, create_repository

from worker.repositories.patches import Kinds

FILES = {
    "src/app.py": b"".join(b"line %d\n" % n for n in range(40)),
    "data/bytes.bin": bytes(range(256)) * 40,
    "old/name.txt": b"".join(b"text %d\n" % n for n in range(30)),
    "gone.txt": b"gone\n",
    "no_end.txt": b"no end",
    "dos.txt": b"a\r\nb\r\n",
    ".gitattributes": b"*.txt text eol=crlf\n*.py ident\n",
}
CHANGED = {
    "src/app.py": FILES["src/app.py"].replace(b"line 7\n", b"line seven $Id$\n"),
    "data/bytes.bin": bytes(reversed(range(256))) * 40,
    "new/name.txt": FILES["old/name.txt"].replace(b"text 3\n", b"text three\n"),
    "no_end.txt": b"no end\nnow",
    "dos.txt": b"a\r\nc\r\n",
    "run.sh": b"#!/bin/sh\necho 2\n",
    "deep/er/new.bin": b"\0\1\2" * 1_000,
    "sp ace\u00e9.txt": b"x\n",
    "line\n\nend.txt": b"x\n\n1\t1\ty\n",
}
REMOVED = frozenset({"gone.txt", "old/name.txt"})
SIGNED = {"message": "Fix it\n\nFor good.", "author": "Fettle <f@example.org>", "at": 1_700_000_000}


@pytest.fixture
def full(project: Repository) -> Repository:
    project.write({"run.sh": b"#!/bin/sh\necho 1\n"})
    (project.folder / "run.sh").chmod(0o755)
    (project.folder / "link").symlink_to("src/app.py")
    project.commit(FILES)
    return project


def expected_tree(full: Repository, folder: Path) -> str:
    """The tree that a user of git gets with the same changes."""
    clone = clone_repository(full, folder)
    clone.git("rm", "--quiet", "--force", *REMOVED)
    clone.commit(CHANGED)
    return clone.tree()


async def test_git_apply_on_a_clone_gives_the_same_tree(
    full: Repository, uploads, tmp_path: Path
) -> None:
    base = await uploads.base(full.bundle())
    patch = await base.patch(CHANGED, REMOVED)
    clone = clone_repository(full, tmp_path / "clone")
    clone.git("apply", "--index", "-", stdin=patch.content)
    assert clone.git("write-tree") == expected_tree(full, tmp_path / "expected")
    assert b"rename from old/name.txt\nrename to new/name.txt\n" in patch.content
    assert b"GIT binary patch" in patch.content
    assert clone.git("ls-files", "--stage", "run.sh").startswith("100755")


async def test_counts_equal_the_counts_of_git(full: Repository, uploads) -> None:
    base = await uploads.base(full.bundle())
    patch = await base.patch(CHANGED, REMOVED)
    numstat = full.raw("apply", "--numstat", "-", stdin=patch.content).decode().splitlines()
    rows = [line.split("\t") for line in numstat]
    assert patch.files == len(rows)
    assert patch.insertions == sum(int(row[0]) for row in rows if row[0] != "-")
    assert patch.deletions == sum(int(row[1]) for row in rows if row[1] != "-")


async def test_the_same_change_gives_the_same_patch_and_bundle_on_each_machine(
    full: Repository, uploads, tmp_path: Path
) -> None:
    bundle = full.bundle()
    first = await uploads.base(bundle)
    second = await type(uploads)(tmp_path / "other").base(bundle)
    backwards = dict(reversed(CHANGED.items()))
    for base in (first, second):
        assert await base.patch(backwards, REMOVED) == await first.patch(CHANGED, REMOVED)
    commits = [
        await base.bundle(CHANGED, REMOVED, branch="fettle/j1", **SIGNED)
        for base in (first, second)
    ]
    assert commits[0] == commits[1]


async def test_without_changes_the_patch_is_empty(full: Repository, uploads) -> None:
    base = await uploads.base(full.bundle())
    same = {"src/app.py": FILES["src/app.py"]}
    patch = await base.patch(same, frozenset({"never-there.txt"}))
    assert (patch.content, patch.files, patch.insertions, patch.deletions) == (b"", 0, 0, 0)


async def test_renames_are_detected_only_among_few_files(project: Repository, uploads) -> None:
    """Git compares each removed file with each new file."""
    old = {f"old/{n}": b"".join(b"%d %d\n" % (n, line) for line in range(20)) for n in range(201)}
    project.commit(old)
    base = await uploads.base(project.bundle())
    new = {f"new/_{path[4:]}": text + b"end\n" for path, text in old.items()}
    assert (await base.patch(new, frozenset(old))).files == 2 * len(old)
    few = dict(list(new.items())[:200])
    patch = await base.patch(few, frozenset(list(old)[:200]))
    assert (patch.files, patch.insertions, patch.deletions) == (200, 200, 0)


async def test_names_below_git_are_dropped(full: Repository, uploads) -> None:
    base = await uploads.base(full.bundle())
    names = (".git/config", "a/.GIT/hooks/x", ".git", ".g\u200dit/config", "a/GIT~1", ".git ./x")
    hidden = dict.fromkeys((*names, ".git::$INDEX_ALLOCATION/x"), b"x")
    links = {".Git": "/etc", "\ufeff.git": "/etc"}
    patch = await base.patch(
        {**hidden, "a/new.txt": b"1\n"}, frozenset({".git/HEAD"}), Kinds(links=links)
    )
    assert patch.files == 1
    assert b"git " not in patch.content.lower().replace(b"diff --git ", b"")


async def test_line_ends_are_converted_as_git_add_does(
    project: Repository, uploads, tmp_path: Path
) -> None:
    """By `.gitattributes`; a file that has CR LF in the commit keeps it."""
    mixed = b"".join(b"%d\r\n" % n for n in range(30))
    rules = (
        b"* text=auto\n*.bat text eol=crlf\n*.raw -text\n*.u16 text working-tree-encoding=UTF-16\n"
    )
    blobs = {".gitattributes": rules, "a.bat": b"1\n2\n", "a.py": b"1\n", "a.u16": b"1\n"}
    project.commit({**blobs, "a.raw": b"1\r\n"} | {"a.u16": "1\n".encode("utf-16")})
    project.git("update-index", "--add", "--cacheinfo", f"100644,{project.blob(mixed)},old.txt")
    project.git("commit", "--quiet", "--message", "CR LF against the attributes")
    base = await uploads.base(project.bundle())
    assert await base.read("a.bat") == blobs["a.bat"]
    changed = {
        "a.bat": b"1\r\n3\r\n",
        "a.py": b"1\r\n2\r\n",
        "a.raw": b"1\r\n2\r\n",
        "a.u16": b"1\r\n2\r\n",
        "new.py": b"1\r\n",
        "new.sh": b"#!/bin/sh\r\n",
        "sub/new.bin": b"\0\r\n",
        "sub/.gitattributes": b"*.keep -text\n",
        "sub/a.keep": b"1\r\n",
        "old.txt": mixed + b"30\r\n",
    }
    patch = await base.patch(changed, frozenset())
    clone = clone_repository(project, tmp_path / "clone")
    clone.git("apply", "--index", "--cached", "-", stdin=patch.content)
    kept_paths = {"a.raw", "sub/new.bin", "sub/a.keep", "old.txt", "sub/.gitattributes"}
    for path, content in changed.items():
        expected = content if path in kept_paths else content.replace(b"\r\n", b"\n")
        assert clone.raw("show", f":{path}") == expected, path
    assert (patch.insertions, b"@@ -28,3 +28,4 @@" in patch.content) == (9, True)
    assert clone.git("ls-files", "--stage", "new.sh").startswith("100755")


async def test_a_link_and_a_folder_can_become_a_file_and_back(
    full: Repository, uploads, tmp_path: Path
) -> None:
    base = await uploads.base(full.bundle())
    changed = {"link": b"text\n", "src": b"a file now\n", "gone.txt/inside.txt": b"1\n"}
    patch = await base.patch(changed, frozenset({"src/app.py", "gone.txt"}))
    clone = clone_repository(full, tmp_path / "clone")
    clone.git("apply", "--index", "-", stdin=patch.content)
    clone.git("commit", "--quiet", "--message", "x")
    for path, content in changed.items():
        assert clone.raw("show", f"HEAD:{path}") == content
    assert clone.git("ls-files", "--stage", "link").startswith("100644")


async def test_a_new_program_can_be_executed(full: Repository, uploads, tmp_path: Path) -> None:
    base = await uploads.base(full.bundle())
    changed = {"bin/new.sh": b"#!/bin/sh\necho hello\n", "bin/new.txt": b"hello\n"}
    patch = await base.patch(changed, frozenset())
    clone = clone_repository(full, tmp_path / "clone")
    clone.git("apply", "--index", "-", stdin=patch.content)
    modes = [line.split()[0] for line in clone.git("ls-files", "--stage", "bin").splitlines()]
    assert modes == ["100755", "100644"]


async def test_the_bundle_is_one_commit_that_a_clone_can_fetch(
    full: Repository, uploads, tmp_path: Path
) -> None:
    base = await uploads.base(full.bundle())
    commits = await base.bundle(CHANGED, REMOVED, branch="fettle/j1", **SIGNED)
    (tmp_path / "job.bundle").write_bytes(commits)
    clone = clone_repository(full, tmp_path / "clone")
    clone.git("fetch", "--quiet", str(tmp_path / "job.bundle"), "fettle/j1:fettle/j1")
    assert clone.git("rev-parse", "fettle/j1^") == base.commit
    assert clone.tree("fettle/j1") == expected_tree(full, tmp_path / "expected")
    assert clone.git("log", "-1", "--format=%an|%ae|%cn|%at|%B", "fettle/j1") == (
        "Fettle|f@example.org|Fettle|1700000000|Fix it\n\nFor good.\n"
    )


async def test_the_changes_of_a_job_do_not_enter_the_mirror(full: Repository, uploads) -> None:
    base = await uploads.base(full.bundle())
    mirror = next((uploads.folder / "mirrors").iterdir())
    before = sorted(path for path in mirror.rglob("*"))
    await base.patch(CHANGED, REMOVED)
    await base.bundle(CHANGED, REMOVED, branch="fettle/j1", **SIGNED)
    assert sorted(path for path in mirror.rglob("*")) == before
    assert list((uploads.folder / "making").iterdir()) == []


async def test_a_commit_without_a_parent_and_a_tree_without_files(tmp_path: Path, uploads) -> None:
    project = create_repository(tmp_path / "empty")
    project.commit()
    base = await uploads.base(project.bundle())
    patch = await base.patch({"a.txt": b"1\n"}, frozenset())
    clone = clone_repository(project, tmp_path / "clone")
    clone.git("apply", "--index", "-", stdin=patch.content)
    assert clone.git("ls-files") == "a.txt"
