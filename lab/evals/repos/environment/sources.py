"""Packages that the index has as source distributions alone: their wheels, built in the sandbox.

The archive is only fetched and read here: no code of a package runs outside of the sandbox.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tarfile
import zipfile
from pathlib import Path

from lab.evals.repos.environment.backends import Backend, Place, Requires, made, parsed
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
    place = Place(files={archive.name: content}, archive=archive.name)
    found = await made(sandbox, backend, place, requires)
    built = {Path(path).name: x for path, x in found.files.items() if path.startswith(WHEELS)}
    if found.error or not built:
        raise NoPackages(
            f"setup: {requirement} has no wheel, and cannot be built in the sandbox: {found.error}"
        )
    for name, data in built.items():
        (wheels / name).write_bytes(data)


async def _fetched(requirement: str, python: str, into: Path) -> Path:
    """The archive. Raises NoPackages where there is none."""
    words = (str(FETCHING), requirement, python, str(into))
    code, name, said = await ran(sys.executable, "-I", *words)
    if code != 0:
        raise NoPackages(f"setup: {requirement} cannot be fetched: {one_line(said[-400:])}")
    if not name:
        raise NoPackages(
            f"setup: {requirement}: the index has neither a wheel for the sandbox's Python {python}"
            " nor a source distribution; pin a version that it has, or name another interpreter "
            "(FETTLE_SANDBOX_PYTHON)"
        )
    return into / name


def _backend(archive: Path) -> Backend:
    """What the archive's pyproject.toml names; no other file of it is read."""
    try:
        content = (_of_zip if archive.suffix == ".zip" else _of_tar)(archive)
    except (tarfile.TarError, zipfile.BadZipFile, OSError) as error:
        raise NoPackages(f"setup: {archive.name} cannot be read: {error}") from None
    return Backend.of(parsed(content))


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
