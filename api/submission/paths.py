"""Checks the file paths of a body. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from api.schemas.problem import FieldError
from jobs.blobs.manifest import checked_path
from jobs.errors import PathRefused

SHOWN = 100


def path_errors(files: Iterable[str], field: str) -> Iterator[FieldError]:
    """Errors for invalid paths, duplicates, and files that are also directories."""
    seen: dict[str, str] = {}
    for path in files:
        try:
            normal = checked_path(path)
        except PathRefused as error:
            yield _path_error(field, path, str(error))
            continue
        if normal in seen:
            yield _path_error(field, path, f"is the same file as {seen[normal]!r}")
        seen[normal] = path
    for normal, path in seen.items():
        parts = normal.split("/")
        for depth in range(1, len(parts)):
            if (parent := "/".join(parts[:depth])) in seen:
                yield _path_error(field, path, f"{parent!r} is a file already")


def _path_error(field: str, path: str, message: str) -> FieldError:
    # a path may be as long as a body: the answer cuts it
    return FieldError(field=f"{field}.{path[:SHOWN]}", message=message[: 2 * SHOWN])
