"""The files and directories that a job starts with, under their names in its workspace."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import click

from cli.errors import CliError
from fettle import Service
from fettle.errors import ApiError

OPTION = "--file"
UNCHECKED_BYTES = 10 * 1024 * 1024
"""A service reads uploads up to this size before it refuses them, so that it can give the reason.
It cuts a longer upload off."""
CACHES = frozenset({"__pycache__"})


@dataclass(frozen=True, slots=True)
class InputFiles:
    """The files that a job starts with."""

    paths: Mapping[str, Path]
    """The files, by the name in the workspace."""
    left_out: Mapping[str, int]
    """Numbers of files that were left out of directories, by the reason."""

    def read(self) -> dict[str, bytes]:
        """Read the files: their contents, by name. Raises click.BadParameter."""
        try:
            return {name: path.read_bytes() for name, path in self.paths.items()}
        except OSError as error:
            raise _bad(f"{error.filename}: {error.strerror}") from None

    def read_texts(self) -> dict[str, str]:
        """As `read`, for a batch, which has only texts. Raises click.BadParameter."""
        texts = {}
        for name, content in self.read().items():
            try:
                texts[name] = content.decode()
            except UnicodeDecodeError:
                raise _bad(f"{name} is no UTF-8 text: a batch takes texts only") from None
        return texts

    def require_fit(self, service: Service, bundle_bytes: int = 0) -> None:
        """Raise CliError if the service would refuse this number of bytes, including a bundle's."""
        total = sum(path.stat().st_size for path in self.paths.values()) + bundle_bytes
        if total <= UNCHECKED_BYTES:
            return
        try:
            most = service.system()["limits"]["max_files_bytes"]
        except ApiError:  # a key that may only submit: the service decides
            return
        if total > most:
            detail = (
                f"all files may have at most {most} bytes (FETTLE_MAX_FILES_BYTES), not {total}"
            )
            if bundle_bytes > most:
                step = "push it to a server, and name that: --repo URL"
                raise CliError("the repository is too large to be sent", detail, step)
            raise CliError("the files are too large", detail)


def collect(sources: Sequence[Path]) -> InputFiles:
    """Find the files at these paths, and the files in directories among these paths.

    Hidden names, Python's caches, links and special files in directories are left out. Raises
    click.BadParameter if two files would have the same name.
    """
    paths: dict[str, Path] = {}
    left_out: Counter[str] = Counter()
    for path in sources:
        for name, file in _below(path, left_out) if path.is_dir() else [(_name(path), path)]:
            if name in paths and not paths[name].samefile(file):
                raise _bad(f"{paths[name]} and {file} would both be {name}")
            paths[name] = file
    return InputFiles(paths, +left_out)


def _name(path: Path) -> str:
    """The name in the workspace: the relative path; of a path outside of this directory, only its
    last part."""
    inside = not path.is_absolute() and ".." not in path.parts
    return PurePath(path).as_posix() if inside else path.resolve().name


def _below(folder: Path, left_out: Counter[str]) -> Iterator[tuple[str, Path]]:
    base = PurePath(_name(folder))
    for parent, folders, names in os.walk(folder):
        hidden = {name for name in (*folders, *names) if name.startswith(".")}
        left_out["hidden"] += len(hidden)
        folders[:] = sorted(set(folders) - hidden - CACHES)
        for name in sorted(set(names) - hidden):
            path = Path(parent, name)
            if path.is_symlink() or not path.is_file():
                left_out["no regular file"] += 1
            else:
                yield (base / path.relative_to(folder)).as_posix(), path


def _bad(reason: str) -> click.BadParameter:
    return click.BadParameter(reason, param_hint=OPTION)
