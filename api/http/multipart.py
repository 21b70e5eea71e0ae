"""Reads a body of several parts after the key was checked: fields, and files of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from typing_extensions import override

from api import problems
from api.http.body import OF_FILES, essence, pieces
from api.problems import Refused
from api.schemas.problem import FieldError
from settings.api import ApiSettings

MEDIA_TYPE = "multipart/form-data"
FILES = "files"
BUNDLE = "bundle"
MOST_FIELDS = 100
HEAD_BYTES = 1_024
"""What a part takes beside its content: the boundary, its name, a path of at most 240 bytes."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The fields by name, the files by path: their parts are all named `files`; and the file of
    the part `bundle`, None where there is none."""

    fields: Mapping[str, str]
    files: Mapping[str, bytes]
    bundle: bytes | None = None

    def json(self, name: str) -> bytes:
        """The field that is JSON. Raises Refused, 422, where it is missing."""
        if name not in self.fields:
            raise _wrong(name, f"the part `{name}` is missing: it is the JSON")
        return self.fields[name].encode()


NO_PARTS = Parts({}, {})


class _Parser(MultiPartParser):
    """Knows whether the last boundary came: a part that has no end is in no form."""

    is_whole = False

    @override
    def on_end(self) -> None:
        self.is_whole = True


def is_multipart(request: Request) -> bool:
    """Whether the body is said to have several parts."""
    return essence(request) == MEDIA_TYPE


async def read(request: Request, settings: ApiSettings, most_fields: int) -> Parts:
    """The parts: fields of at most `most_fields` bytes together, and the settings' files.

    Long files pass through the system's temporary directory. Raises Refused: 400, 408, 413, 422.
    """
    parser = _Parser(
        request.headers,
        pieces(request, _most(settings, most_fields), settings.body_seconds, OF_FILES),
        # the JSON and a bundle may be files, too; one too many is counted with the others
        max_files=settings.max_files + 3,
        max_fields=MOST_FIELDS,
        max_part_size=most_fields,
    )
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError) as error:
        raise _unreadable(str(error), settings) from None
    try:
        if not parser.is_whole:
            raise _unreadable("its last boundary is missing", settings)
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
        files: dict[str, bytes] = {}
        bundle = form.get(BUNDLE)
        for name, part in form.multi_items():
            if isinstance(part, UploadFile) and name != BUNDLE:
                await _take(name, part, fields, files)
        return Parts(fields, files, await _bundle(bundle, len(form.getlist(BUNDLE))))
    finally:
        await form.close()


async def _bundle(part: UploadFile | str | None, count: int) -> bytes | None:
    if count > 1:
        raise _wrong(BUNDLE, "it is there twice")
    if isinstance(part, str) and part:
        raise _wrong(BUNDLE, "send it as a file: its part has a file name")
    if not isinstance(part, UploadFile) or not part.filename:  # of a browser: none was chosen
        return None
    return await part.read()


async def _take(
    name: str, part: UploadFile, fields: dict[str, str], files: dict[str, bytes]
) -> None:
    """Put a part that has a file name where it belongs: `curl -F 'job=@job.json'` sends one."""
    content = await part.read()
    if name != FILES:
        fields[name] = content.decode(errors="replace")
    elif part.filename in files:
        raise _wrong(FILES, f"{part.filename[:100]} is there twice")
    elif part.filename:  # a browser sends an empty one where no file was chosen
        files[part.filename] = content


def _most(settings: ApiSettings, most_fields: int) -> int:
    heads = HEAD_BYTES * (settings.max_files + MOST_FIELDS)
    return most_fields + settings.max_files_bytes + heads


def _unreadable(why: str, settings: ApiSettings) -> Refused:
    if why.startswith("Too many files"):
        return _wrong(
            FILES,
            f"a job may have at most {settings.max_files} files (FETTLE_MAX_FILES)",
            settings.max_files,
        )
    return Refused(problems.BAD_REQUEST, f"the form cannot be read: {why[:200]}")


def _wrong(field: str, message: str, limit: int | None = None) -> Refused:
    error = FieldError(field=field, message=message, limit=limit)
    return Refused(problems.INVALID, f"{field}: {message}", {"errors": [error]})
