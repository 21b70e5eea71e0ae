"""What a setup has left, unpacked into a folder. The archive is whatever code in a sandbox sent."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

from worker.repositories.errors import SetupFailed
from worker.repositories.places import TOP


def unpacked(archive: Path, folder: Path, most_bytes: int, most_files: int) -> int:
    """Unpack directories, files and symbolic links into the new `folder`; returns their bytes.

    Links may lead anywhere, as those of a commit do: only sandboxes follow them. They are made
    last, so that nothing is written through one. Raises SetupFailed. Blocks: for a thread.
    """
    folder.mkdir()
    links: dict[Path, str] = {}
    taken = 0
    try:
        with tarfile.open(archive, "r:") as tar:
            for number, member in enumerate(tar):
                taken += member.size
                if taken > most_bytes or number >= most_files:
                    raise SetupFailed(
                        f"it left more than {most_bytes} bytes in {most_files} files "
                        "(FETTLE_SETUP_BYTES)"
                    )
                path = _place(member, folder)
                if member.issym():
                    links[path] = member.linkname
                else:
                    _extract(tar, member, path, folder)
        for path in links:
            path.parent.mkdir(parents=True, exist_ok=True)
        for path, target in links.items():
            path.symlink_to(target)
    except (tarfile.TarError, EOFError, FileExistsError, NotADirectoryError, ValueError) as error:
        raise SetupFailed(f"what it left cannot be kept: {error}") from None
    _settle(folder)
    return taken


def _place(member: tarfile.TarInfo, folder: Path) -> Path:
    """Where a member goes. Raises tarfile.TarError for a name that leads out of the folder, and
    for what the worker itself writes to."""
    plain = tarfile.TarInfo(member.name)
    path = folder / tarfile.data_filter(plain, str(folder)).name
    first, *rest = path.relative_to(folder).parts or (".git",)
    if first == ".git" or (first == TOP and not rest and not member.isdir()):
        raise tarfile.TarError(f"{member.name} is not a setup's to make")
    return path


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path, folder: Path) -> None:
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
    elif member.isreg():
        path.parent.mkdir(parents=True, exist_ok=True)
        tar.extract(member, folder, filter="data")
    else:
        raise tarfile.TarError(f"{member.name} is no directory, file or symbolic link")


def _settle(folder: Path) -> None:
    """Modes as a commit's layer has them."""
    for place, _, names in os.walk(folder):
        Path(place).chmod(0o755)
        for name in names:
            path = Path(place, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
