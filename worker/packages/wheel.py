"""A wheel as it is read here: a zip file that says what its package needs. Pure."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from email.parser import BytesParser

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from agents.errors import ToolRefused
from sandbox.protocol import MIB

MOST_METADATA = 1 * MIB


@dataclass(frozen=True, slots=True)
class Inside:
    """What is in a wheel: what its package needs, and what it takes unpacked."""

    needs: tuple[Requirement, ...]
    size: int
    files: int


def inside(content: bytes, filename: str, name: str) -> Inside:
    """Look into a wheel of the package `name`. Raises ToolRefused where it is none of it."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            metadata = _metadata(archive, entries)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise ToolRefused(f"{filename} is no wheel: {error}") from None
    told = BytesParser().parsebytes(metadata, headersonly=True)
    if canonicalize_name(told["Name"] or "") != name:
        raise ToolRefused(f"{filename} is no wheel of {name}: it says {told['Name']!r}")
    try:
        needs = tuple(Requirement(each) for each in told.get_all("Requires-Dist", []))
    except InvalidRequirement as error:
        raise ToolRefused(f"{filename} does not tell what it needs: {error}") from None
    return Inside(needs, sum(entry.file_size for entry in entries), len(entries))


def _metadata(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> bytes:
    for entry in entries:
        folder, _, name = entry.filename.partition("/")
        if folder.endswith(".dist-info") and name == "METADATA":
            if entry.file_size > MOST_METADATA:
                raise zipfile.BadZipFile("its METADATA is too large")
            with archive.open(entry) as file:
                return file.read(MOST_METADATA)
    raise zipfile.BadZipFile("it has no METADATA")
