"""FixedBase: the files of a repository's commit, for tests that need no git."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from worker.repositories.patches import PLAIN, Kinds
from worker.repositories.submodules import Submodules

COMMIT = "c" * 40
NO_SUBMODULES = Submodules()


@dataclass(frozen=True)
class FixedEntry:
    size: int
    oid: str
    is_file: bool = True
    is_executable: bool = False
    is_submodule: bool = False


@dataclass(frozen=True)
class FixedPatch:
    content: bytes
    files: int
    insertions: int = 1
    deletions: int = 1
    lfs: tuple[str, ...] = ()


@dataclass(frozen=True)
class FixedBase:
    """`texts` are its files, `links` its symbolic links. A patch contains only the names of changed
    files.
    """

    texts: Mapping[str, bytes]
    links: Mapping[str, str] = field(default_factory=dict)
    gitlinks: tuple[str, ...] = ()
    submodules: Submodules = NO_SUBMODULES
    pointers: frozenset[str] = frozenset()
    layer: str = "repo-fixed"
    commit: str = COMMIT
    entries: Mapping[str, FixedEntry] = field(init=False)

    def __post_init__(self) -> None:
        entries = {path: FixedEntry(len(text), _oid(text)) for path, text in self.texts.items()}
        entries |= {path: FixedEntry(1, _oid(b"x"), is_file=False) for path in self.links}
        entries |= {
            path: FixedEntry(0, "", is_file=False, is_submodule=True) for path in self.gitlinks
        }
        object.__setattr__(self, "entries", entries)

    async def read(self, path: str) -> bytes | None:
        return self.texts.get(path)

    async def declared_submodules(self, modules: bytes) -> Collection[str] | None:
        return modules.decode().split()

    async def ignored(
        self, changed: Mapping[str, bytes], removed: frozenset[str], kinds: Kinds = PLAIN
    ) -> frozenset[str]:
        return frozenset(path for path in (*changed, *kinds.links) if path.endswith(".log"))

    async def patch(
        self, changed: Mapping[str, bytes], removed: frozenset[str], kinds: Kinds = PLAIN
    ) -> FixedPatch:
        rows = [f"M {path}\n" for path in sorted(changed)] + [f"D {path}\n" for path in removed]
        rows += [f"L {path} {target}\n" for path, target in sorted(kinds.links.items())]
        rows += [f"X {path} {value}\n" for path, value in sorted(kinds.executable.items())]
        return FixedPatch("".join(rows).encode(), len(rows))

    async def bundle(
        self,
        changed: Mapping[str, bytes],
        removed: frozenset[str],
        kinds: Kinds = PLAIN,
        *,
        branch: str,
        message: str,
        author: str,
        at: int,
    ) -> bytes:
        patch = await self.patch(changed, removed, kinds)
        return f"{branch}\n{message}\n{author}\n{at}\n".encode() + patch.content


def _oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content)).hexdigest()
