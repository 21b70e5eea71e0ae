"""Manifest: a workspace as a value: files by path as (digest, size), symbolic links by path with
their targets. Only what changed is stored anew.

No host has a directory of a job: a path is a name in a manifest, and a file's bytes are a blob. A
link is a text; only code in a sandbox follows it, never a program on a host. If a job works on a
repository, its manifest has the differences from a commit.

Why: docs/decisions/0001-workspace-is-a-value.md
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from jobs.blobs.directory import Blobs
from jobs.errors import PathRefused

LONGEST_PATH = 240
"""Bytes of a path. A sandbox's own limit may be wider, never narrower."""
DEEPEST_PATH = 32
"""Parts of a path, and so levels of directories: what a sandbox takes."""

_REFUSED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""As `sandbox.paths.fault` has it: all other characters can be in names of files."""


class FileEntry(NamedTuple):
    """A file: the sha256 and the number of its bytes. `executable`: whether it can be run as a
    program; None is the default (see `sandbox.protocol.Command.executable`)."""

    digest: str
    size: int
    executable: bool | None = None


def normalize_path(path: str) -> str:
    """`path` in its one normal form: relative, `/` between the parts; raises PathRefused."""
    excerpt = path[:80]
    prefix = path[: LONGEST_PATH + 1]  # it may be as long as a body, and has lost by then
    if _REFUSED.search(prefix):
        signs = "control characters, line ends, or signs that turn the direction of text"
        raise PathRefused(f"a path is UTF-8 without {signs}: {excerpt!r}")
    if not path or len(prefix.encode()) > LONGEST_PATH or path.startswith("/") or "\\" in prefix:
        rule = f"a path is relative, with '/', up to {LONGEST_PATH} bytes"
        raise PathRefused(f"{rule}: {excerpt!r}")
    parts = [part for part in path.split("/") if part != "."]
    if not parts or any(part in ("", "..") for part in parts):
        raise PathRefused(f"a path has no empty parts and no '..': {path!r}")
    if len(parts) > DEEPEST_PATH:
        raise PathRefused(f"a path has at most {DEEPEST_PATH} parts, not {len(parts)}")
    return "/".join(parts)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files and `links` (targets) of a workspace by path. With `base`, a repository's commit
    (hexadecimal), the workspace also has the entries of the commit, without the paths in
    `removed`; the manifest's files and links replace entries of the same path."""

    files: Mapping[str, FileEntry] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    base: str | None = None
    links: Mapping[str, str] = field(default_factory=dict)

    def with_files(
        self,
        changed: Mapping[str, FileEntry],
        deleted: frozenset[str],
        in_base: Container[str] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> Manifest:
        """This manifest after a run: with `changed` and new `links`, without `deleted`.

        With a base, `removed` has the deleted paths until they are written again. `in_base`: the
        paths of the base; other deleted paths need no note (None: note all).
        """
        new = links or {}
        replaced = deleted | changed.keys() | new.keys()
        files = {path: entry for path, entry in self.files.items() if path not in replaced}
        links = {path: target for path, target in self.links.items() if path not in replaced}
        after = replace(self, files={**files, **changed}, links={**links, **new})
        if self.base is None:
            return after
        removed = {path for path in deleted if in_base is None or path in in_base}
        return replace(after, removed=(self.removed | removed) - changed.keys() - new.keys())

    def dump(self) -> bytes:
        """Its bytes: sorted, so that the same files have the same digest."""
        entries = {path: _plain(entry) for path, entry in self.files.items()}
        links = {path: {"link": target} for path, target in self.links.items()}
        plain: dict[str, Any] = dict(sorted({**entries, **links}.items()))
        if self.base is not None:
            plain = {"base": self.base, "files": plain, "removed": sorted(self.removed)}
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def read(cls, content: bytes) -> Manifest:
        """What `dump` wrote."""
        plain = json.loads(content)
        base, removed = plain.get("base"), frozenset[str]()
        if isinstance(base, str):  # a file of that name is a list
            plain, removed = plain["files"], frozenset(plain["removed"])
        else:
            base = None
        files = {path: FileEntry(*each) for path, each in plain.items() if isinstance(each, list)}
        links = {path: each["link"] for path, each in plain.items() if isinstance(each, dict)}
        return cls(files, removed, base, links)


def _plain(entry: FileEntry) -> list[Any]:
    return [*entry] if entry.executable is not None else [entry.digest, entry.size]


async def load(blobs: Blobs, digest: str | None) -> Manifest:
    """The manifest of this digest; None is the empty workspace."""
    return Manifest.read(await blobs.get(digest)) if digest else Manifest()


async def save(blobs: Blobs, files: Mapping[str, bytes]) -> str | None:
    """Store files as a workspace; returns its digest, None for no files.

    Raises PathRefused, also where two names are one path, or a file is another's directory.
    """
    if not files:
        return None
    contents = _by_path(files)
    digests = await asyncio.gather(*map(blobs.put, contents.values()))
    entries = {
        path: FileEntry(digest, len(content))
        for (path, content), digest in zip(contents.items(), digests, strict=True)
    }
    return await blobs.put(Manifest(entries).dump())


def _by_path(files: Mapping[str, bytes]) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    for name, content in files.items():
        path = normalize_path(name)
        if path in contents:
            raise PathRefused(f"two names are the same path: {path!r}")
        contents[path] = content
    for path in contents:
        for directory in map(str, PurePosixPath(path).parents):
            if directory in contents:
                raise PathRefused(f"{directory!r} cannot be a file and hold {path!r}")
    return contents
