"""An image for each set of layers: Fettle's, and the layers as one tree in `/base`.

A container cannot mount an overlay without privilege, nor should it be given a directory of a
worker's machine, which may be another than its engine's. So the layers go to the engine once, and a
sandbox's agent copies them to `/work` before it is ready. An image is found again by its tag, which
names what it was made of; layers are never written again, and their names say what is in them.

Why: docs/decisions/0055-layers-of-a-repository.md
"""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.docker.garbage_collection import MACHINE
from sandbox.docker.image import BASE, Image
from sandbox.policy import PAGE_BYTES
from sandbox.protocol import SandboxUnavailable

REPOSITORY = "fettle-layers"
LAYERS, MADE_FROM = "fettle.layers", "fettle.made-from"
"""Labels: the layers' names, the first on top; and the image's id below them."""
_BYTES, _FILES = "fettle.layers.bytes", "fettle.layers.files"
KEPT_SECONDS = 7 * 24 * 3600.0
"""An image that is older is removed; making one anew takes seconds."""
_PART_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class LayeredImage:
    """One that the engine has. `work_bytes` and `files` are what a copy of its layers takes."""

    id: str
    work_bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class _Entry:
    """A name in the union of layers: its path there, and where it lies."""

    path: str
    source: str
    status: os.stat_result


@dataclass(frozen=True, slots=True)
class Union:
    """What several layers are as one tree."""

    entries: tuple[_Entry, ...]

    @property
    def labels(self) -> dict[str, str]:
        """Its size, as on the image that has it."""
        whole = sum(-(-each.status.st_size // PAGE_BYTES) * PAGE_BYTES for each in self.entries)
        return {_BYTES: f"{whole}", _FILES: f"{len(self.entries)}"}

    def archive(self) -> Iterator[bytes]:
        """A tar archive of it, below the directory of the image, in parts of a MiB or so. Anybody
        may read what is in it: each sandbox is another user.
        """
        part = bytearray(_header(BASE.lstrip("/"), os.stat_result((0o40755, *9 * (0,)))))
        for each in self.entries:
            name = f"{BASE.lstrip('/')}/{each.path}"
            part += _header(name, each.status, each.source)
            if stat.S_ISREG(each.status.st_mode):
                data = Path(each.source).read_bytes()
                if len(data) != each.status.st_size:
                    raise OSError(f"{each.source} was changed: a layer must not be")
                part += data + bytes(-len(data) % tarfile.BLOCKSIZE)
            if len(part) >= _PART_BYTES:
                yield bytes(part)
                part.clear()
        yield bytes(part) + bytes(2 * tarfile.BLOCKSIZE)


def tag(image: Image, layers: Sequence[str]) -> str:
    """The name of the image of these layers, over `image`."""
    whole = hashlib.sha256("\n".join((image.id, *layers)).encode()).hexdigest()
    return f"{REPOSITORY}:{whole[:32]}"


def found(answer: Mapping[str, Any] | None) -> LayeredImage | None:
    """The image that the engine describes, if it is one of ours."""
    labels = ((answer or {}).get("Config") or {}).get("Labels") or {}
    try:
        return LayeredImage(str((answer or {})["Id"]), int(labels[_BYTES]), int(labels[_FILES]))
    except (KeyError, ValueError):
        return None


def union(top: Path, layers: Sequence[str]) -> Union:
    """The layers below `top` as one tree, the first on top. Raises SandboxUnavailable where one
    cannot be read."""
    seen: dict[str, _Entry] = {}
    try:
        for name in layers:
            for entry in _walk(str(top / name), ""):
                if not _is_covered(entry, seen):
                    seen.setdefault(entry.path, entry)
    except OSError as error:
        raise SandboxUnavailable(f"a layer cannot be read: {error}") from error
    return Union(tuple(seen.values()))


def is_left(
    labels: Mapping[str, str], age: float, machine: str, image: str, has: Callable[[str], bool]
) -> bool:
    """Whether an image of layers, `age` seconds old, is of no more use: it is old; or it was made
    on this `machine`, of another `image` than today's, or of a layer that the machine has no more.
    """
    if age > KEPT_SECONDS:
        return True
    if labels.get(MACHINE) != machine:
        return False
    return labels.get(MADE_FROM) != image or not all(map(has, labels.get(LAYERS, "").split()))


def _walk(folder: str, prefix: str) -> Iterator[_Entry]:
    for entry in sorted(os.scandir(folder), key=lambda each: each.name):
        status = entry.stat(follow_symlinks=False)
        if stat.S_IFMT(status.st_mode) not in {stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}:
            continue
        yield _Entry(prefix + entry.name, entry.path, status)
        if stat.S_ISDIR(status.st_mode):
            yield from _walk(entry.path, f"{prefix}{entry.name}/")


def _is_covered(entry: _Entry, seen: Mapping[str, _Entry]) -> bool:
    """Whether a layer above has something else than a directory on the way to it."""
    ends = (end for end, sign in enumerate(entry.path) if sign == "/")
    above = (seen.get(entry.path[:end]) for end in ends)
    return any(each is not None and not stat.S_ISDIR(each.status.st_mode) for each in above)


def _header(name: str, status: os.stat_result, source: str = "") -> bytes:
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
