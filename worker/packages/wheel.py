"""A wheel as it is read here: a zip file that says what its package needs. Pure."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from email.parser import BytesParser

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from agents.errors import ToolRefused
from sandbox.protocol import MIB

MOST_METADATA = 1 * MIB
LONGEST_NEED = 4_000
"""Numbers of more digits than that are none to Python."""
_PACKED = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""As wheels are. Others may ask for gigabytes before the first byte comes out."""
_NO_WHEEL = (
    *(zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError),
    *(EOFError, OSError, OverflowError, ValueError),
)
"""What `zipfile` raises over bytes that nobody would pack."""


def needs(content: bytes, filename: str, name: str) -> tuple[Requirement, ...]:
    """What a wheel of the package `name` says that it needs. Raises ToolRefused where it is none
    of it.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            metadata = _metadata(archive)
    except _NO_WHEEL as error:
        raise ToolRefused(f"{filename} is no wheel: {error}") from None
    told = BytesParser().parsebytes(metadata, headersonly=True)
    # str: a value that is not ASCII comes as an object of the email package
    if canonicalize_name(str(told["Name"] or "")) != name:
        raise ToolRefused(f"{filename} is no wheel of {name}: it says {told['Name']!r}")
    needed = [str(each) for each in told.get_all("Requires-Dist", [])]
    if any(len(each) > LONGEST_NEED for each in needed):
        raise ToolRefused(f"{filename} needs what takes over {LONGEST_NEED} characters to say")
    try:
        return tuple(Requirement(each) for each in needed)
    except (InvalidRequirement, RecursionError) as error:
        raise ToolRefused(f"{filename} does not tell what it needs: {error}") from None


def _metadata(archive: zipfile.ZipFile) -> bytes:
    for entry in archive.infolist():
        folder, _, name = entry.filename.partition("/")
        if folder.endswith(".dist-info") and name == "METADATA":
            if entry.file_size > MOST_METADATA:
                raise zipfile.BadZipFile("its METADATA is too large")
            if entry.compress_type not in _PACKED:
                raise zipfile.BadZipFile("its METADATA is neither stored nor deflated")
            with archive.open(entry) as file:
                return file.read(MOST_METADATA)
    raise zipfile.BadZipFile("it has no METADATA")
