"""Manifest: a workspace as a value. Files by path as (digest, size), symbolic links by path with
their targets.

A job has no directory on a host: a path is a name in a manifest, and a file's bytes are a blob.
Only changed files are stored again. A link is a text; only code in a sandbox follows it. If a job
works on a repository, its manifest has the differences from a commit.

See ADR 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from jobs.blobs.directory import Blobs
from jobs.errors import PathRefused

LONGEST_PATH = 240
"""The bytes of the longest path. A sandbox's own limit may be higher, never lower."""
DEEPEST_PATH = 32
"""The parts of the deepest path: a sandbox accepts no more levels of directories."""

_REFUSED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""The characters that `sandbox.paths.fault` refuses, too. Names of files may have all others."""


class FileEntry(NamedTuple):
    """A file."""

    digest: str
    """The sha256 of its bytes."""
    size: int
    """The number of its bytes."""
    executable: bool | None = None
    """Whether it can run as a program. None: the default of
    `sandbox.protocol.Command.executable`."""


def normalize_path(path: str) -> str:
    """The path in its normal form: relative, with `/` between the parts. Raises PathRefused."""
    excerpt = path[:80]
    prefix = path[: LONGEST_PATH + 1]  # a longer path, which may be as long as a body, is refused
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
    """The files and links of a workspace.

    With a base, the workspace also has the entries of the base commit, except the paths in
    `removed`.
    """

    files: Mapping[str, FileEntry] = field(default_factory=dict)
    """The entries, by path. They replace entries of the base."""
    removed: frozenset[str] = frozenset()
    """The removed paths of the base."""
    base: str | None = None
    """The commit (hexadecimal) of a repository."""
    links: Mapping[str, str] = field(default_factory=dict)
    """The targets of symbolic links, by path. They replace entries of the base."""

    def with_files(
        self,
        changed: Mapping[str, FileEntry],
        deleted: frozenset[str],
        in_base: Container[str] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> Manifest:
        """This manifest after a run that wrote the files `changed` and the `links`, and removed the
        paths `deleted`.

        If the manifest has a base, `removed` lists deleted paths until they are written again.
        `in_base`: the paths of the base, so that other deleted paths are not listed. None: all
        deleted paths are listed.
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
        """The manifest as bytes, sorted, so that the same files have the same digest."""
        entries = {path: _plain(entry) for path, entry in self.files.items()}
        links = {path: {"link": target} for path, target in self.links.items()}
        plain: dict[str, Any] = dict(sorted({**entries, **links}.items()))
        if self.base is not None:
            plain = {"base": self.base, "files": plain, "removed": sorted(self.removed)}
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def read(cls, content: bytes) -> Manifest:
        """Read the bytes that `dump` wrote."""
        plain = json.loads(content)
        base, removed = plain.get("base"), frozenset[str]()
        if isinstance(base, str):  # a file of that name is a list
            plain, removed = plain["files"], frozenset(plain["removed"])
        else:
            base = None
        files = {
            path: FileEntry(*entry) for path, entry in plain.items() if isinstance(entry, list)
        }
        links = {path: entry["link"] for path, entry in plain.items() if isinstance(entry, dict)}
        return cls(files, removed, base, links)


def _plain(entry: FileEntry) -> list[Any]:
    return [*entry] if entry.executable is not None else [entry.digest, entry.size]


async def load(blobs: Blobs, digest: str | None) -> Manifest:
    """The manifest with this digest. None: the empty workspace."""
    return Manifest.read(await blobs.get(digest)) if digest else Manifest()


async def save(blobs: Blobs, files: Mapping[str, bytes]) -> str | None:
    """Store files as a workspace. Returns the digest of its manifest; None if there are no files.

    Raises PathRefused, also if two names are the same path, or if the path of a file is the
    directory of another file.
    """
    if not files:
        return None
    return await blobs.put(Manifest(await store_files(blobs, _by_path(files))).dump())


async def store_files(blobs: Blobs, contents: Mapping[str, bytes]) -> dict[str, FileEntry]:
    """Store the files of a workspace; returns their entries by path."""
    digests = await blobs.put_all(contents.values())
    return {
        path: FileEntry(digest, len(content))
        for (path, content), digest in zip(contents.items(), digests, strict=True)
    }


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
