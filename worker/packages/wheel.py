"""A wheel as it is read here: a zip file that says what its package needs. Pure."""

from __future__ import annotations

import io
import zipfile
from email.parser import BytesParser

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from agents.errors import ToolRefused
from sandbox.protocol import MIB

MOST_METADATA = 1 * MIB


def needs(content: bytes, filename: str, name: str) -> tuple[Requirement, ...]:
    """What a wheel of the package `name` says that it needs. Raises ToolRefused where it is none
    of it.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            metadata = _metadata(archive)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise ToolRefused(f"{filename} is no wheel: {error}") from None
    told = BytesParser().parsebytes(metadata, headersonly=True)
    if canonicalize_name(told["Name"] or "") != name:
        raise ToolRefused(f"{filename} is no wheel of {name}: it says {told['Name']!r}")
    try:
        return tuple(Requirement(each) for each in told.get_all("Requires-Dist", []))
    except InvalidRequirement as error:
        raise ToolRefused(f"{filename} does not tell what it needs: {error}") from None


def _metadata(archive: zipfile.ZipFile) -> bytes:
    for entry in archive.infolist():
        folder, _, name = entry.filename.partition("/")
        if folder.endswith(".dist-info") and name == "METADATA":
            if entry.file_size > MOST_METADATA:
                raise zipfile.BadZipFile("its METADATA is too large")
            with archive.open(entry) as file:
                return file.read(MOST_METADATA)
    raise zipfile.BadZipFile("it has no METADATA")
