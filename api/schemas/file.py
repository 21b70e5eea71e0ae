"""A workspace's files."""

from __future__ import annotations

from api.schemas.wire import Told


class File(Told):
    """A file of the workspace as it stands now."""

    path: str
    digest: str
    size: int
    href: str


class FileList(Told):
    """The workspace."""

    files: list[File]
    digest: str | None
