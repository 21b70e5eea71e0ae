"""Packs this machine's Python and the sandbox's environment as an image's file system.

The tar archive has the interpreter and its library at their paths on this machine, the environment
at /opt/venv, a shell with the usual small tools, and the system's libraries that one of these
loads. It has no other file of this machine: no packages of the interpreter itself, no
configuration, no users.
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
from sandbox.programs import PROGRAMS, environment_scripts

EMPTY_DIRECTORIES = ("work", "tmp", "run", "proc", "dev", "sys", "etc", "usr/local/bin")
EXCLUDED_FROM_LIBRARY = {
    *("site-packages", "dist-packages", "test", "tests", "idlelib", "turtledemo", "ensurepip"),
    *("tkinter", "lib2to3", "config-*"),
}
"""Names in the standard library: tests, graphical interfaces, and installed packages."""
EXCLUDED_FROM_ENVIRONMENT = {
    *("pip", "pip-*", "setuptools", "setuptools-*", "pkg_resources", "_distutils_hack"),
    *("distutils-precedence.*", "pip*", "tests", "*ctivate*", "include", "share"),
}
"""Names in the environment: installers and tests. Bytecode is included, because a sandbox's root is
read-only."""
_LIBRARY = re.compile(r"(?<!\S)(/\S+) \(0x")
"""A library in the output of ldd: `name => /path (0x...)`, or `/path (0x...)`."""
_DESCRIBE_PYTHON = (
    "import json, os, sys, sysconfig; print(json.dumps({"
    "'program': os.path.realpath(sys.executable), 'named': sys._base_executable,"
    "'library': sorted({sysconfig.get_path('stdlib', vars={'installed_base': sys.base_prefix}),"
    "sysconfig.get_path('platstdlib', vars={'platbase': sys.base_exec_prefix})}),"
    "'packages': sysconfig.get_path('purelib')}))"
)


class ArchiveWriter:
    """Writes a tar archive of root's files. The first file of a path counts; symbolic links of a
    merged /usr are kept."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar, self._paths = tar, {""}
        self.binaries: list[Path] = []

    def add_directory(self, path: str) -> str:
        """Add `path` and its parents; returns the path without links of /usr."""
        path = path.strip("/")
        if path in self._paths:
            return path
        parent, _, name = path.rpartition("/")
        path = f"{self.add_directory(parent)}/{name}".lstrip("/")
        source = Path("/", path)
        if source.is_symlink() and not parent:  # /bin -> usr/bin
            self._add(path, tarfile.SYMTYPE, link=str(source.readlink()))
            return self.add_directory(str(source.readlink()))
        if path not in self._paths:
            mode = 0o1777 if path == "tmp" else 0o755
            self._add(path, tarfile.DIRTYPE, mode=mode)
        return path

    def add_tree(self, source: Path, target: str, excluded: Iterable[str]) -> None:
        """Add all files below `source`, except names that match one of the `excluded` patterns."""
        patterns = tuple(excluded)
        for path in sorted(source.iterdir()):
            if any(path.match(pattern) for pattern in patterns):
                continue
            if path.is_dir() and not path.is_symlink():
                self.add_tree(path, f"{target}/{path.name}", patterns)
            else:
                self.add_file(path, f"{target}/{path.name}")

    def add_file(self, source: Path, target: str) -> None:
        """Add one file or symbolic link. A link into `/etc` becomes a file, because the image does
        not have that directory: Debian links a module of its Python into it."""
        parent, _, name = target.strip("/").rpartition("/")
        path = f"{self.add_directory(parent)}/{name}".lstrip("/")
        if source.is_symlink() and not source.readlink().is_relative_to("/etc"):
            self._add(path, tarfile.SYMTYPE, link=str(source.readlink()))
        elif source.is_file():
            data = source.read_bytes()
            if data[:4] == b"\x7fELF":
                self.binaries.append(source)
            mode = 0o755 if source.stat().st_mode & 0o111 else 0o644
            self._add(path, tarfile.REGTYPE, data, mode, source.stat().st_mtime)

    def add_data(self, target: str, data: bytes, mode: int) -> None:
        """Add a file with this content."""
        parent, _, name = target.strip("/").rpartition("/")
        self._add(f"{self.add_directory(parent)}/{name}", tarfile.REGTYPE, data, mode)

    def _add(
        self,
        path: str,
        kind: bytes,
        data: bytes = b"",
        mode: int = 0o777,
        modified_at: float = 0,
        link: str = "",
    ) -> None:
        if path in self._paths:
            return
        self._paths.add(path)
        entry = tarfile.TarInfo(path)
        entry.type, entry.size, entry.mode, entry.linkname = kind, len(data), mode, link
        entry.mtime = int(modified_at)
        self._tar.addfile(entry, io.BytesIO(data))


def pack(environment: Path, overlay: Path, output: IO[bytes]) -> None:
    """Write the archive. The files of the folder `overlay` replace all other files."""
    with tarfile.open(fileobj=output, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        _add_all(environment, overlay, ArchiveWriter(tar))


def _add_all(environment: Path, overlay: Path, archive: ArchiveWriter) -> None:
    """Add all files; the first file of a path counts, so the overlay comes first."""
    for directory in EMPTY_DIRECTORIES:
        archive.add_directory(directory)
    archive.add_tree(overlay, "", ())
    process = subprocess.run(
        [environment / "bin" / "python", "-I", "-S", "-c", _DESCRIBE_PYTHON],
        capture_output=True,
        check=True,
    )
    python = json.loads(process.stdout)
    for path in {python["program"], python["named"]}:
        archive.add_file(Path(path), path)
    for library in python["library"]:
        archive.add_tree(Path(library), library, EXCLUDED_FROM_LIBRARY)
    for name, data in environment_scripts(environment):
        archive.add_data(f"{policy.VENV}/bin/{name}", data, 0o755)
    archive.add_tree(environment, policy.VENV, EXCLUDED_FROM_ENVIRONMENT)
    for tool in _find_tools():
        archive.add_file(tool, str(tool))
    for library in sorted(set(_find_libraries(archive.binaries, environment.absolute()))):
        archive.add_file(Path(os.path.realpath(library)), library)
    zones = Path("/usr/share/zoneinfo")
    if zones.is_dir():
        archive.add_tree(zones, str(zones), ("right", "posix"))


def _find_tools() -> Iterator[Path]:
    """The programs of `PROGRAMS` that this machine has."""
    candidates = {Path(folder, name) for folder in ("/bin", "/usr/bin") for name in PROGRAMS}
    for path in sorted(candidates):
        if path.is_file():
            if path.is_symlink() and path.readlink().is_absolute():  # /etc/alternatives
                yield Path(os.path.realpath(path))
            yield path


def _find_libraries(binaries: list[Path], environment: Path) -> Iterator[str]:
    """The shared libraries that the binaries load, except the environment's own."""
    process = subprocess.run(["ldd", *binaries], capture_output=True, check=False)
    for match in _LIBRARY.finditer(process.stdout.decode()):
        path = os.path.normpath(match[1])
        if not Path(path).is_relative_to(environment):
            yield path
            if path.endswith("/libc.so.6"):  # programs load this library by its name
                yield str(Path(path).with_name("libnss_files.so.2"))
