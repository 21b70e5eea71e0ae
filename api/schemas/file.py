"""A workspace's files."""

from __future__ import annotations

from api.schemas.wire import ResponseModel


class File(ResponseModel):
    """A file of the workspace."""

    path: str
    digest: str
    size: int
    href: str


class FileList(ResponseModel):
    """The workspace."""

    files: list[File]
    digest: str | None
