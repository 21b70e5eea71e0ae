"""Patches: the changes of a job, made in a scratch repository that reads the mirror's objects.

New files that git ignores by the `.gitignore` files of the tree, such as coverage reports, are not
part of the patch.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from sandbox.paths import is_git_internal, is_program
from sandbox.protocol import MIB
from worker.repositories.errors import RepositoryRefused
from worker.repositories.folders import RepositoryFolders
from worker.repositories.git import Git, GitFailed
from worker.repositories.mirrors import Mirror, open_scratch
from worker.repositories.refs import BRANCHES, COMMIT
from worker.repositories.snapshots import LFS_POINTER, TreeEntry

_NO_OBJECT = "0" * 40
_LINK = stat.S_IFLNK
_COMPARE = (
    *("diff-tree", "-r", "--find-renames=50%", "-l200", "--no-ext-diff", "--no-textconv"),
    *("--diff-algorithm=histogram", "--no-indent-heuristic", "--no-relative"),
    *("--numstat", "--patch", "--binary", "--full-index", "--unified=3", "--no-color"),
    *("--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"),
)
"""All options are set, so that a change gives the same patch even if git's defaults change. Git
looks for renamed and changed files among at most 200 by 200 files: it compares all pairs."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch in git's format, with the numbers of its files and lines (not of binary files)."""

    content: bytes
    files: int
    insertions: int
    deletions: int
    lfs: tuple[str, ...] = ()
    """Changed files that Git LFS would store, by the attributes of the tree: the patch has their
    bytes instead of a pointer."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A commit's message, its author and committer (`Name <mail>`), and its time."""

    message: str
    author: str
    at: int


@dataclass(frozen=True, slots=True)
class Kinds:
    """The modes and the symbolic links of a change."""

    executable: Mapping[str, bool] = field(default_factory=dict)
    """Whether a file can be executed, by path. For other files, the replaced file decides, or the
    first bytes of a new file."""
    links: Mapping[str, str] = field(default_factory=dict)
    """The targets of new symbolic links, by path."""


PLAIN = Kinds()


@dataclass(frozen=True, slots=True)
class CommitChange:
    """A change of a job, relative to a commit of a mirror."""

    folders: RepositoryFolders
    mirror: Mirror
    commit: str
    entries: Mapping[str, TreeEntry]
    changed: Mapping[str, bytes]
    removed: frozenset[str]
    kinds: Kinds = PLAIN


async def patch(change: CommitChange) -> Patch:
    """The difference between the commit and the files of the job. Raises RepositoryRefused."""
    async with scratch(change.folders, change.mirror) as git:
        tree = await _tree(git, change)
        lfs = await _lfs_files(git, change)
        # The old and the new bytes of each file in base85, if they cannot be compressed.
        sizes = sum(entry.size for entry in change.entries.values())
        most = 4 * (sizes + sum(map(len, change.changed.values()))) + 64 * MIB
        output = await git.run(*_COMPARE, change.commit, tree, most_bytes=most)
    counts, _, content = output.partition(b"\n\n")
    return Patch(content, *_counted(counts), lfs)


async def bundle(change: CommitChange, branch: str, signed: Signature) -> bytes:
    """A bundle with one commit on `branch` that has the files of the job. Raises
    RepositoryRefused."""
    async with scratch(change.folders, change.mirror) as git:
        tree = await _tree(git, change)
        signing = replace(git, config={"pack.threads": "1"}, environment=identity(signed))
        arguments = ("commit-tree", tree, "-p", change.commit, "-F", "-")
        message = signed.message.replace("\0", "").strip() + "\n"
        output = await signing.run(*arguments, stdin=message.encode(errors="replace"))
        commit = output.decode().strip()
        name = f"{BRANCHES}{branch}"
        await signing.run("update-ref", name, commit)
        most = git.file_bytes + 64 * MIB
        return await signing.run(
            *("bundle", "create", "--quiet", "--version=2", "-", name, f"^{change.commit}"),
            most_bytes=most,
        )


def tip(content: bytes) -> str:
    """The commit of a bundle that `bundle` has made. Raises RepositoryRefused for other bytes."""
    rows = content.partition(b"\n\n")[0].split(b"\n")[1:]
    commits = (row.partition(b" ")[0] for row in rows if not row.startswith(b"-"))
    commit = next(commits, b"").decode(errors="replace")
    if not COMMIT.fullmatch(commit):
        raise RepositoryRefused("the stored change is no git bundle of one commit")
    return commit


@asynccontextmanager
async def open_bundle(
    folders: RepositoryFolders, content: bytes, *mirrors: Mirror
) -> AsyncIterator[Git]:
    """Git on a scratch repository with the commit of a bundle that `bundle` has made from one of
    the mirrors. Raises RepositoryRefused."""
    async with scratch(folders, *mirrors) as git:
        pack = content.partition(b"\n\n")[2]
        await git.run("index-pack", "--stdin", "--fix-thin", stdin=pack)
        yield git


@asynccontextmanager
async def scratch(folders: RepositoryFolders, *mirrors: Mirror) -> AsyncIterator[Git]:
    """Git on a repository for one change, which reads the objects of the mirrors. A failure of git
    there is a fault of the change, not an outage. Raises RepositoryRefused."""
    try:
        async with open_scratch(folders, *mirrors) as git:
            yield git
    except GitFailed as error:
        raise RepositoryRefused(f"git cannot work with this change: {error.message}") from None


async def _tree(git: Git, change: CommitChange) -> str:
    """The tree after the change."""
    removed = {path for path in change.removed if path in change.entries}
    submodules = frozenset(_submodules(change) - removed)
    links = {path: os.fsencode(target) for path, target in change.kinds.links.items()}
    files = {**change.changed, **links}
    contents = {path: text for path, text in files.items() if not _is_foreign(path, submodules)}
    to_convert = [path for path in contents.keys() - links if await _may_convert(change, path)]
    oids = await _stored(git, {path: contents[path] for path in contents if path not in to_convert})
    rows = [f"0 {_NO_OBJECT}\t{path}" for path in sorted(removed)]
    for path in sorted(oids):
        mode = _LINK if path in links else _mode(change, path)
        rows.append(f"{mode:o} {oids[path]}\t{path}")
    await git.run("read-tree", change.commit)
    await git.run(
        *("update-index", "--add", "--replace", "-z", "--index-info"),
        stdin=b"".join(os.fsencode(row) + b"\0" for row in rows),
    )
    if to_convert:
        await _add_converted(git, change, sorted(to_convert))
    return (await git.run("write-tree")).decode().strip()


async def _may_convert(change: CommitChange, path: str) -> bool:
    """Whether git may have to convert the line ends of a file, by the attributes of the tree. If
    the file has CR LF in the commit, it keeps its bytes: otherwise all of its lines would
    differ."""
    if b"\r\n" not in change.changed[path]:
        return False
    old = await committed(change, path)
    return old is None or b"\r\n" not in old


async def _add_converted(git: Git, change: CommitChange, paths: list[str]) -> None:
    """Add files like `git add`, from a work tree with only these files. The other files keep the
    bytes of the layer: encoded in UTF-8, and not filtered."""
    tree, rules = git.folder / "converted", git.folder / "info" / "attributes"

    def write() -> None:
        rules.write_text("* -filter -ident !working-tree-encoding\n")
        for path in paths:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(change.changed[path])
            (tree / path).chmod(stat.S_IMODE(_mode(change, path)))

    await asyncio.to_thread(write)
    await replace(git, tree=tree).run(
        *("update-index", "--add", "--replace", "-z", "--stdin"),
        stdin=b"".join(os.fsencode(path) + b"\0" for path in paths),
    )
    rules.unlink()


async def _lfs_files(git: Git, change: CommitChange) -> tuple[str, ...]:
    """The changed files that Git LFS would store, by the attributes in git's index."""
    files = (path for path, text in change.changed.items() if not text.startswith(LFS_POINTER))
    names = b"".join(os.fsencode(path) + b"\0" for path in sorted(files))
    if not names:
        return ()
    output = await git.run("check-attr", "--cached", "-z", "--stdin", "filter", stdin=names)
    fields = output.split(b"\0")[:-1]  # of each file the path, the attribute and its value
    rows = zip(fields[::3], fields[2::3], strict=True)
    return tuple(os.fsdecode(path) for path, value in rows if value == b"lfs")


async def committed(change: CommitChange, path: str) -> bytes | None:
    """The bytes of a regular file in the commit; None if the commit has no such file."""
    entry = change.entries.get(path)
    if entry is None or not entry.is_file:
        return None
    git = change.mirror.git()
    return await git.run("cat-file", "blob", entry.oid, most_bytes=entry.size)


def _submodules(change: CommitChange) -> set[str]:
    return {path for path, entry in change.entries.items() if entry.is_submodule}


def _is_foreign(path: str, submodules: frozenset[str]) -> bool:
    """Whether a path belongs to git, or to another repository."""
    return is_git_internal(path) or any(
        path == submodule or path.startswith(f"{submodule}/") for submodule in submodules
    )


def _mode(change: CommitChange, path: str) -> int:
    """The mode of a file: existing files keep the commit's mode, new files have the mode of a
    run."""
    entry, executable = change.entries.get(path), change.kinds.executable.get(path)
    if executable is None and entry is not None and entry.is_file:
        return entry.mode
    if executable is None:
        executable = is_program(change.changed[path])
    return stat.S_IFREG | (0o755 if executable else 0o644)


async def _stored(git: Git, contents: Mapping[str, bytes]) -> dict[str, str]:
    """Store the contents as git objects; return the ids by path."""
    if not contents:
        return {}
    files = git.folder / "files"
    await asyncio.to_thread(_write, files, list(contents.values()))
    file_list = "".join(f"{files}/{number}\n" for number in range(len(contents)))
    oids = await git.run(
        "hash-object", "-w", "--no-filters", "--stdin-paths", stdin=os.fsencode(file_list)
    )
    return dict(zip(contents, oids.decode().split(), strict=True))


def _write(folder: Path, contents: list[bytes]) -> None:
    folder.mkdir()
    for number, content in enumerate(contents):
        (folder / str(number)).write_bytes(content)


def _counted(rows: bytes) -> tuple[int, int, int]:
    """(files, insertions, deletions). A row has two counts and a path without line ends."""
    counts = [row.split(b"\t", 2)[:2] for row in rows.split(b"\n") if row]
    insertions = sum(_count(row[0]) for row in counts)
    deletions = sum(_count(row[1]) for row in counts)
    return len(counts), insertions, deletions


def _count(number: bytes) -> int:
    return 0 if number == b"-" else int(number)


def identity(signed: Signature) -> dict[str, str]:
    """Environment variables for git: the author and committer of a commit."""
    name, _, mail = signed.author.partition("<")
    values = {"NAME": name.strip() or "Fettle", "EMAIL": mail.rstrip("> ").strip() or "fettle"}
    values["DATE"] = f"@{signed.at} +0000"
    return {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in values.items()
    }


IGNORE_FILE = ".gitignore"
MOST_RULES = 500
"""The most `.gitignore` files that are read, from the top folder down."""
RULES_BYTES = 256 * 1024
"""Longer `.gitignore` files are not read."""
_NO_MATCH = 1


async def ignored(change: CommitChange) -> frozenset[str]:
    """The paths of changed files and links that are new and ignored. Raises RepositoryRefused."""
    files = (*change.changed, *change.kinds.links)
    new = [path for path in files if path not in change.entries]
    rules = await _rules(change) if new else {}
    if not rules:
        return frozenset()
    async with scratch(change.folders, change.mirror) as git:
        tree = git.folder / "tree"
        await asyncio.to_thread(_write_rules, tree, rules)
        names = b"".join(os.fsencode(path) + b"\0" for path in new)
        output = await replace(git, tree=tree).run(
            *("check-ignore", "--no-index", "-z", "--stdin"),
            stdin=names,
            most_bytes=len(names),
            ends=(0, _NO_MATCH),
        )
    return frozenset(map(os.fsdecode, output.split(b"\0")[:-1]))


async def _rules(change: CommitChange) -> dict[str, bytes]:
    """The `.gitignore` files of the job: texts by path."""
    changed = {path: text for path, text in change.changed.items() if _is_rules(path, len(text))}
    unchanged = (
        path
        for path, entry in change.entries.items()
        if entry.is_file and _is_rules(path, entry.size)
        if path not in change.changed and path not in change.removed
    )
    first = sorted((*changed, *unchanged), key=lambda path: (path.count("/"), path))[:MOST_RULES]
    git, entries = change.mirror.git(), change.entries
    return {
        path: changed[path]
        if path in changed
        else await git.run("cat-file", "blob", entries[path].oid)
        for path in first
    }


def _is_rules(path: str, size: int) -> bool:
    *folders, name = path.split("/")
    is_safe = {"", ".", "..", IGNORE_FILE}.isdisjoint(folders)
    return name == IGNORE_FILE and size <= RULES_BYTES and is_safe


def _write_rules(tree: Path, rules: Mapping[str, bytes]) -> None:
    tree.mkdir()
    for path, content in rules.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(content)
