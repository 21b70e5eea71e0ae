"""Packages of which the index has only source distributions: their wheels, built in the sandbox.

The archive is only fetched and read here: no code of a package runs outside of the sandbox.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tarfile
import zipfile
from pathlib import Path

from lab.evals.repos.environment.backends import BuildBackend, Requires, SourceTree, build, parsed
from lab.evals.repos.environment.packages import NoPackages, ran
from lab.evals.repos.pytest_run import one_line
from sandbox.protocol import MIB, Sandbox

FETCHING = Path(__file__).with_name("fetching.py")
WHEELS = ".fettle/wheels/"
_PYPROJECT = re.compile(r"[^/]+/pyproject\.toml")


async def wheel(
    sandbox: Sandbox, requirement: str, python: str, wheels: Path, requires: Requires
) -> None:
    """Build the wheel of a requirement into the folder `wheels`. Raises NoPackages,
    SandboxUnavailable."""
    archive = await _fetched(requirement, python, wheels)
    try:
        backend = await asyncio.to_thread(_backend, archive)
        content = await asyncio.to_thread(archive.read_bytes)
    finally:
        archive.unlink()
    source_tree = SourceTree(files={archive.name: content}, archive=archive.name)
    result = await build(sandbox, backend, source_tree, requires)
    built = {Path(path).name: x for path, x in result.files.items() if path.startswith(WHEELS)}
    if result.error or not built:
        raise NoPackages(
            f"setup: {requirement} has no wheel, and cannot be built in the sandbox: {result.error}"
        )
    for name, data in built.items():
        (wheels / name).write_bytes(data)


async def _fetched(requirement: str, python: str, into: Path) -> Path:
    """The archive. Raises NoPackages if there is no archive."""
    words = (str(FETCHING), requirement, python, str(into))
    code, name, stderr = await ran(sys.executable, "-I", *words)
    if code != 0:
        raise NoPackages(f"setup: {requirement} cannot be fetched: {one_line(stderr[-400:])}")
    if not name:
        raise NoPackages(
            f"setup: {requirement}: the index has neither a wheel for the sandbox's Python {python}"
            " nor a source distribution; pin a version that it has, or name another interpreter "
            "(FETTLE_SANDBOX_PYTHON)"
        )
    return into / name


def _backend(archive: Path) -> BuildBackend:
    """The backend that the archive's pyproject.toml names; no other file of the archive is read."""
    try:
        content = (_of_zip if archive.suffix == ".zip" else _of_tar)(archive)
    except (tarfile.TarError, zipfile.BadZipFile, OSError) as error:
        raise NoPackages(f"setup: {archive.name} cannot be read: {error}") from None
    return BuildBackend.of(parsed(content))


def _of_zip(archive: Path) -> bytes | None:
    with zipfile.ZipFile(archive) as zipped:
        for name in filter(_PYPROJECT.fullmatch, zipped.namelist()):
            with zipped.open(name) as file:
                return file.read(MIB)
    return None


def _of_tar(archive: Path) -> bytes | None:
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isreg() and _PYPROJECT.fullmatch(member.name):
                file = tar.extractfile(member)
                return file.read(MIB) if file else None
    return None
