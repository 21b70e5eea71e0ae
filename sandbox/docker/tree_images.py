"""An image for each set of directory trees: Fettle's image, and the union of the trees in `/base`.

A container cannot mount an overlay without privilege. It should not mount a directory of a worker's
machine either, because its engine may be on another machine. So the trees are sent to the engine
once, and the agent of each sandbox copies them to `/work` before it is ready. The tag of an image
names the trees and the image that it was made from. Trees never change under their names, so the
tag is enough to find the image again.

See ADR 55.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import tarfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.docker.engine import DockerEngine, EngineLost
from sandbox.docker.garbage_collection import MACHINE, MARK, Owner
from sandbox.docker.image import TREES, SandboxImage
from sandbox.policy import PAGE_BYTES
from sandbox.protocol import SandboxUnavailable

REPOSITORY = "fettle-layers"
TREES_LABEL, MADE_FROM = "fettle.layers", "fettle.made-from"
"""Labels: the names of the trees, the top one first; and the id of the image below them."""
_BYTES_LABEL, _FILES_LABEL = "fettle.layers.bytes", "fettle.layers.files"
KEPT_SECONDS = 7 * 24 * 3600.0
"""An older image is removed; to make it again takes seconds."""
_PART_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class TreeImage:
    """An image of trees that the engine has."""

    id: str
    work_bytes: int
    """The space of a copy of its trees."""
    files: int


@dataclass(frozen=True, slots=True)
class _UnionEntry:
    """An entry of a union of trees."""

    path: str
    """The path in the union."""
    source: str
    """The path on this machine."""
    status: os.stat_result


@dataclass(frozen=True, slots=True)
class TreeUnion:
    """Several trees as one tree."""

    entries: tuple[_UnionEntry, ...]

    @property
    def labels(self) -> dict[str, str]:
        """The labels with its size, for its image."""
        pages = sum(-(-entry.status.st_size // PAGE_BYTES) for entry in self.entries)
        return {_BYTES_LABEL: f"{pages * PAGE_BYTES}", _FILES_LABEL: f"{len(self.entries)}"}

    def archive(self) -> Iterator[bytes]:
        """A tar archive of the union, below the image's directory `TREES`, in parts of about a MiB.
        All users may read the files, because each sandbox has another uid.
        """
        top_status = os.stat_result((0o40755, *9 * (0,)))
        part = bytearray(_tar_header(TREES.lstrip("/"), top_status))
        for entry in self.entries:
            name = f"{TREES.lstrip('/')}/{entry.path}"
            part += _tar_header(name, entry.status, entry.source)
            if stat.S_ISREG(entry.status.st_mode):
                data = Path(entry.source).read_bytes()
                if len(data) != entry.status.st_size:
                    raise OSError(f"{entry.source} was changed, but a tree must not change")
                part += data + bytes(-len(data) % tarfile.BLOCKSIZE)
            if len(part) >= _PART_BYTES:
                yield bytes(part)
                part.clear()
        yield bytes(part) + bytes(2 * tarfile.BLOCKSIZE)


class TreeImages:
    """The images of trees over one sandbox image; makes and removes them."""

    def __init__(
        self, engine: DockerEngine, image: SandboxImage, trees_directory: Path, owner: Owner
    ) -> None:
        self._engine, self._image, self._owner = engine, image, owner
        self._trees_directory = trees_directory
        self._files: dict[tuple[str, ...], int] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def files(self, trees: tuple[str, ...]) -> int:
        """The number of files of these trees; 0 if their image was not requested before."""
        return self._files.get(trees, 0)

    async def image(self, trees: tuple[str, ...], used_marks: set[str]) -> TreeImage:
        """The image of these trees. If the engine does not have it, it is made from a container.
        The container's mark is in `used_marks` until the image is complete; afterwards the session
        removes the container. Raises SandboxUnavailable.
        """
        tag = image_tag(self._image, trees)
        async with self._locks.setdefault(tag, asyncio.Lock()):
            tree_image = parse_image(await self._engine.image(tag))
            if tree_image is None:
                await self._make(tag, trees, used_marks)
                tree_image = parse_image(await self._engine.image(tag))
        if tree_image is None:
            raise SandboxUnavailable(f"the engine has not stored the image {tag}")
        self._files[trees] = tree_image.files
        return tree_image

    async def remove_unused(self) -> None:
        """Remove the images that no run will need."""
        for listed in await self._engine.images(TREES_LABEL):
            if is_unused(
                listed.labels, listed.age, self._owner.machine, self._image.id, self._has_tree
            ):
                try:
                    await self._engine.remove_image(listed.id)
                except EngineLost:
                    raise
                except SandboxUnavailable:
                    continue

    def _has_tree(self, name: str) -> bool:
        return (self._trees_directory / name).is_dir()

    async def _make(self, tag: str, trees: tuple[str, ...], used_marks: set[str]) -> None:
        union = await asyncio.to_thread(unite_trees, self._trees_directory, trees)
        mark = uuid.uuid4().hex
        used_marks.add(mark)
        try:
            labels = {**self._owner.labels, MARK: mark}
            body = {"Image": self._image.id, "Cmd": ["never started"], "Labels": labels}
            container = await self._engine.create(body, f"{REPOSITORY}-{mark}")
            if container is None:
                raise SandboxUnavailable(f"the engine already has a container {REPOSITORY}-{mark}")
            await self._engine.extract(container, _read_in_thread(union.archive()))
            image_labels = {
                TREES_LABEL: " ".join(trees),
                MADE_FROM: self._image.id,
                **union.labels,
                MACHINE: self._owner.machine,
            }
            await self._engine.commit(container, tag, image_labels)
        finally:
            used_marks.discard(mark)  # the session removes the container later; it takes seconds


def image_tag(image: SandboxImage, trees: Sequence[str]) -> str:
    """The name of the image of these trees over `image`."""
    digest = hashlib.sha256("\n".join((image.id, *trees)).encode()).hexdigest()
    return f"{REPOSITORY}:{digest[:32]}"


def parse_image(description: Mapping[str, Any] | None) -> TreeImage | None:
    """The image of the engine's description, if it is an image of trees."""
    labels = ((description or {}).get("Config") or {}).get("Labels") or {}
    try:
        image_id = str((description or {})["Id"])
        return TreeImage(image_id, int(labels[_BYTES_LABEL]), int(labels[_FILES_LABEL]))
    except (KeyError, ValueError):
        return None


def unite_trees(directory: Path, trees: Sequence[str]) -> TreeUnion:
    """The trees of `directory` as one tree, the first on top. Raises SandboxUnavailable if a tree
    cannot be read."""
    entries: dict[str, _UnionEntry] = {}
    try:
        for name in trees:
            for entry in _walk(str(directory / name), ""):
                if not _is_covered(entry, entries):
                    entries.setdefault(entry.path, entry)
    except OSError as error:
        raise SandboxUnavailable(f"a directory tree cannot be read: {error}") from error
    return TreeUnion(tuple(entries.values()))


def is_unused(
    labels: Mapping[str, str], age: float, machine: str, image: str, has_tree: Callable[[str], bool]
) -> bool:
    """Whether no run will need an image of trees, `age` seconds old: it is old; or it was made on
    this `machine` from an earlier `image`, or from a tree that the machine has removed.
    """
    if age > KEPT_SECONDS:
        return True
    if labels.get(MACHINE) != machine:
        return False
    names = labels.get(TREES_LABEL, "").split()
    return labels.get(MADE_FROM) != image or not all(map(has_tree, names))


def _walk(folder: str, prefix: str) -> Iterator[_UnionEntry]:
    for entry in sorted(os.scandir(folder), key=lambda each: each.name):
        status = entry.stat(follow_symlinks=False)
        if stat.S_IFMT(status.st_mode) not in {stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}:
            continue
        yield _UnionEntry(prefix + entry.name, entry.path, status)
        if stat.S_ISDIR(status.st_mode):
            yield from _walk(entry.path, f"{prefix}{entry.name}/")


def _is_covered(entry: _UnionEntry, entries: Mapping[str, _UnionEntry]) -> bool:
    """Whether a tree above has an entry on the way to this path that is not a directory."""
    ends = (end for end, char in enumerate(entry.path) if char == "/")
    parents = (entries.get(entry.path[:end]) for end in ends)
    return any(parent is not None and not stat.S_ISDIR(parent.status.st_mode) for parent in parents)


def _tar_header(name: str, status: os.stat_result, source: str = "") -> bytes:
    info = tarfile.TarInfo(name)
    info.mtime = int(status.st_mtime)
    info.mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
    if stat.S_ISDIR(status.st_mode):
        info.type, info.mode = tarfile.DIRTYPE, 0o755
    elif stat.S_ISLNK(status.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, os.readlink(source)  # noqa: PTH115
    else:
        info.size = status.st_size
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


async def _read_in_thread(archive: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The parts of an archive, each read in a thread."""
    while part := await asyncio.to_thread(next, archive, b""):
        yield part
