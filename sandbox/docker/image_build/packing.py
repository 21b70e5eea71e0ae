"""Packs this machine's Python and the sandbox's environment as an image's file system.

The tar has the interpreter and its library where they are here, the environment at /opt/venv, a
shell with the usual small tools, and of the system's libraries those that one of these loads.
Nothing else of this machine: no package of the interpreter's own, no configuration, no users.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from sandbox import policy
from sandbox.programs import PROGRAMS
from sandbox.scripts import scripts

EMPTY = ("work", "tmp", "run", "proc", "dev", "sys", "etc", "usr/local/bin")
LEFT_OUT = {
    *("site-packages", "dist-packages", "test", "tests", "idlelib", "turtledemo", "ensurepip"),
    *("tkinter", "lib2to3", "config-*"),
}
"""Of the standard library: tests, windows, and what was installed into it."""
NOT_INSTALLED = {
    *("pip", "pip-*", "setuptools", "setuptools-*", "pkg_resources", "_distutils_hack"),
    *("distutils-precedence.*", "pip*", "tests", "*ctivate*", "include", "share"),
}
"""Of the environment: what installs, and tests. Bytecode stays: a sandbox's root is read-only."""
_LIBRARY = re.compile(r"(?<!\S)(/\S+) \(0x")
"""A library in what ldd prints: `name => /path (0x...)`, or `/path (0x...)`."""
_ASK = (
    "import json, os, sys, sysconfig; print(json.dumps({"
    "'program': os.path.realpath(sys.executable), 'named': sys._base_executable,"
    "'library': sorted({sysconfig.get_path('stdlib', vars={'installed_base': sys.base_prefix}),"
    "sysconfig.get_path('platstdlib', vars={'platbase': sys.base_exec_prefix})}),"
    "'packages': sysconfig.get_path('purelib')}))"
)


class Packed:
    """A tar of root's files. Each path goes in once; symbolic links of a merged /usr stay so."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar, self._there = tar, {""}
        self.binaries: list[Path] = []

    def directory(self, path: str) -> str:
        """Make `path` and what is above it; returns where that is, links of /usr followed."""
        path = path.strip("/")
        if path in self._there:
            return path
        above, _, name = path.rpartition("/")
        path = f"{self.directory(above)}/{name}".lstrip("/")
        here = Path("/", path)
        if here.is_symlink() and not above:  # /bin -> usr/bin
            self._add(path, tarfile.SYMTYPE, link=str(here.readlink()))
            return self.directory(str(here.readlink()))
        if path not in self._there:
            mode = 0o1777 if path == "tmp" else 0o755
            self._add(path, tarfile.DIRTYPE, mode=mode)
        return path

    def tree(self, source: Path, at: str, left_out: Iterable[str]) -> None:
        """All files below `source`, but for names that match one of `left_out`."""
        patterns = tuple(left_out)
        for each in sorted(source.iterdir()):
            if any(each.match(pattern) for pattern in patterns):
                continue
            if each.is_dir() and not each.is_symlink():
                self.tree(each, f"{at}/{each.name}", patterns)
            else:
                self.file(each, f"{at}/{each.name}")

    def file(self, source: Path, at: str) -> None:
        """One file or symbolic link. A link into `/etc`, which the image does not have, becomes a
        file: Debian links a module of its Python there."""
        above, _, name = at.strip("/").rpartition("/")
        path = f"{self.directory(above)}/{name}".lstrip("/")
        if source.is_symlink() and not source.readlink().is_relative_to("/etc"):
            self._add(path, tarfile.SYMTYPE, link=str(source.readlink()))
        elif source.is_file():
            data = source.read_bytes()
            if data[:4] == b"\x7fELF":
                self.binaries.append(source)
            mode = 0o755 if source.stat().st_mode & 0o111 else 0o644
            self._add(path, tarfile.REGTYPE, data, mode, source.stat().st_mtime)

    def text(self, at: str, data: bytes, mode: int) -> None:
        """A file of our own."""
        above, _, name = at.strip("/").rpartition("/")
        self._add(f"{self.directory(above)}/{name}", tarfile.REGTYPE, data, mode)

    def _add(
        self,
        path: str,
        kind: bytes,
        data: bytes = b"",
        mode: int = 0o777,
        changed: float = 0,
        link: str = "",
    ) -> None:
        if path in self._there:
            return
        self._there.add(path)
        entry = tarfile.TarInfo(path)
        entry.type, entry.size, entry.mode, entry.linkname = kind, len(data), mode, link
        entry.mtime = int(changed)
        self._tar.addfile(entry, io.BytesIO(data))


def pack(environment: Path, overlay: Path, into: IO[bytes]) -> None:
    """Write the tar. `overlay` is a folder that is copied over all else."""
    with tarfile.open(fileobj=into, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        _pack(environment, overlay, Packed(tar))


def _pack(environment: Path, overlay: Path, packed: Packed) -> None:
    """Everything; the first file of a path is the one that counts, so the overlay comes first."""
    for each in EMPTY:
        packed.directory(each)
    packed.tree(overlay, "", ())
    done = subprocess.run(
        [environment / "bin" / "python", "-I", "-S", "-c", _ASK], capture_output=True, check=True
    )
    found = json.loads(done.stdout)
    for named in {found["program"], found["named"]}:
        packed.file(Path(named), named)
    for library in found["library"]:
        packed.tree(Path(library), library, LEFT_OUT)
    for name, data in scripts(environment):
        packed.text(f"{policy.VENV}/bin/{name}", data, 0o755)
    packed.tree(environment, policy.VENV, NOT_INSTALLED)
    for tool in _tools():
        packed.file(tool, str(tool))
    for loaded in sorted(set(_libraries(packed.binaries, environment.absolute()))):
        packed.file(Path(os.path.realpath(loaded)), loaded)
    zones = Path("/usr/share/zoneinfo")
    if zones.is_dir():
        packed.tree(zones, str(zones), ("right", "posix"))


def _tools() -> Iterator[Path]:
    """The small programs of a shell, as far as they are here."""
    found = {Path(place, name) for place in ("/bin", "/usr/bin") for name in PROGRAMS}
    for each in sorted(found):
        if each.is_file():
            if each.is_symlink() and each.readlink().is_absolute():  # /etc/alternatives
                yield Path(os.path.realpath(each))
            yield each


def _libraries(binaries: list[Path], environment: Path) -> Iterator[str]:
    """The shared libraries that the binaries load, but for the environment's own."""
    done = subprocess.run(["ldd", *binaries], capture_output=True, check=False)
    for found in _LIBRARY.finditer(done.stdout.decode()):
        path = os.path.normpath(found[1])
        if not Path(path).is_relative_to(environment):
            yield path
            if path.endswith("/libc.so.6"):  # loads this one by name
                yield str(Path(path).with_name("libnss_files.so.2"))
