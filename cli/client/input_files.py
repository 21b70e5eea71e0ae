"""The files and directories that a job starts with, under their names in its workspace."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import click

from cli.client.service import Service
from cli.errors import CliError, Refused

OPTION = "--file"
UNCHECKED_BYTES = 10 * 1024 * 1024
"""Up to here a service reads what it refuses, and says why; a longer upload it cuts off."""
CACHES = frozenset({"__pycache__"})


@dataclass(frozen=True, slots=True)
class InputFiles:
    """Where the files lie, by their names in the workspace, and how many of a directory's were left
    out, by the reason."""

    paths: Mapping[str, Path]
    left_out: Mapping[str, int]

    def read(self) -> dict[str, bytes]:
        """Their bytes. Raises click.BadParameter."""
        try:
            return {name: path.read_bytes() for name, path in self.paths.items()}
        except OSError as error:
            raise _bad(f"{error.filename}: {error.strerror}") from None

    def require_fit(self, service: Service, bundle_bytes: int = 0) -> None:
        """Raise CliError where the service would refuse so many bytes, with those of a bundle."""
        total = sum(path.stat().st_size for path in self.paths.values()) + bundle_bytes
        if total <= UNCHECKED_BYTES:
            return
        try:
            most = service.system()["limits"]["max_files_bytes"]
        except Refused:  # a key that may only submit: the service decides
            return
        if total > most:
            detail = (
                f"all files may have at most {most} bytes (FETTLE_MAX_FILES_BYTES), not {total}"
            )
            if bundle_bytes > most:
                step = "push it to a server, and name that: --repo URL"
                raise CliError("the repository is too large to be sent", detail, step)
            raise CliError("the files are too large", detail)


def collect(given: Sequence[Path]) -> InputFiles:
    """The files at these paths, and those in the directories among them.

    Hidden names, caches of Python, links and what is no regular file are left out of a directory.
    Raises click.BadParameter where two files would have one name.
    """
    paths: dict[str, Path] = {}
    left_out: Counter[str] = Counter()
    for path in given:
        for name, found in _below(path, left_out) if path.is_dir() else [(_name(path), path)]:
            if name in paths and not paths[name].samefile(found):
                raise _bad(f"{paths[name]} and {found} would both be {name}")
            paths[name] = found
    return InputFiles(paths, +left_out)


def _name(path: Path) -> str:
    """A file's or directory's name in the workspace; one from elsewhere goes by its last name."""
    inside = not path.is_absolute() and ".." not in path.parts
    return PurePath(path).as_posix() if inside else path.resolve().name


def _below(folder: Path, left_out: Counter[str]) -> Iterator[tuple[str, Path]]:
    base = PurePath(_name(folder))
    for place, folders, names in os.walk(folder):
        hidden = {name for name in (*folders, *names) if name.startswith(".")}
        left_out["hidden"] += len(hidden)
        folders[:] = sorted(set(folders) - hidden - CACHES)
        for name in sorted(set(names) - hidden):
            path = Path(place, name)
            if path.is_symlink() or not path.is_file():
                left_out["no regular file"] += 1
            else:
                yield (base / path.relative_to(folder)).as_posix(), path


def _bad(why: str) -> click.BadParameter:
    return click.BadParameter(why, param_hint=OPTION)
