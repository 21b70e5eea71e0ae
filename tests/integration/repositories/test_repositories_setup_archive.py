"""The archive that a sandbox sends after a setup, and the files that reach the worker's disk."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from worker.repositories.errors import SetupFailed
from worker.repositories.setups.archive import unpack
from worker.repositories.setups.inside import ENTRY, FILE, FOLDER, LINK, PROGRAM

MIB = 1024 * 1024


def entry(name: str, kind: bytes = FILE, content: bytes = b"x", size: int | None = None) -> bytes:
    """`size` is the size of the content in the header."""
    if kind == FOLDER:
        content = b""
    name_bytes = name.encode()
    return (
        ENTRY.pack(kind, 9, len(name_bytes), len(content) if size is None else size)
        + name_bytes
        + content
    )


def archive(folder: Path, *entries: bytes) -> Path:
    (folder / "left").write_bytes(b"".join(entries))
    return folder / "left"


def link(name: str, target: str) -> bytes:
    return entry(name, LINK, target.encode())


A = entry("a", FOLDER)


@pytest.mark.parametrize(
    "entries",
    [
        [entry("../out")],
        [A, entry("a/../../out")],
        [entry("/etc/a")],
        [entry("./a")],
        [entry("")],
        [entry("a\0b")],
        [entry("a"), entry("a")],
        [A, A],
        [A, entry("a")],
        [link("a", ".."), entry("a/out")],
        [link("a", ".."), entry("a/out", FOLDER)],
        [link("a", ".."), link("a/out", "x")],
        [A, link("a", "..")],
        [entry("a", b"h", b"/etc/passwd")],
        [entry("a", b"\0")],
        [link(".setup", "..")],
        [entry(".setup")],
        [entry(".setup", FOLDER), entry(".setup/fettle-bytes", FOLDER)],
        [entry(".setup", FOLDER), link(".setup/fettle-bytes", "../../out")],
        [link(".git", "..")],
        [entry(".git", FOLDER), entry(".git/config")],
        [entry("a", content=b"x" * 2_000)],
        [entry("a", LINK, b"x" * 2_000)],
        [entry(f"f{n}") for n in range(20)],
        [entry("a"), entry("a/b")],
        [entry("a/b")],
        [link("a", "")],
        [link("a", "b" * 5_000)],
        [entry("b" * 300)],
        [entry("a", FOLDER, size=1), b"x"],
        [entry("a", content=b"x" * 9)[:-4]],
        [entry("a")[:-2]],
        [entry("a")[:10]],
    ],
)
def test_a_harmful_archive_is_not_kept(tmp_path: Path, entries: list[bytes]) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(SetupFailed):
        unpack(archive(tmp_path / "in", *entries), tmp_path / "in" / "new", 1_000, 10)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "in" / "out").exists()


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([entry("a", LINK, size=2**40)], "256 bytes each"),
        ([entry("a", LINK, size=5_000)], "a name has more than 4096 bytes"),
        ([entry("b" * 60_000)], "a name has more than 4096 bytes"),
        ([entry("a" * 200 + str(n), LINK, b"b" * 4_000) for n in range(900)], "256 bytes each"),
        ([entry("a", content=bytes(40 * MIB), size=41 * MIB)], "it ends in the middle"),
    ],
)
def test_an_archive_needs_little_memory_of_the_worker(
    tmp_path: Path, entries: list[bytes], reason: str
) -> None:
    packed = archive(tmp_path, *entries)
    tracemalloc.start()
    try:
        with pytest.raises(SetupFailed, match=reason):
            unpack(packed, tmp_path / "new", 2**41, 1_000)
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()


def test_the_sent_files_are_stored(tmp_path: Path) -> None:
    new = tmp_path / "new"
    entries = (
        entry("a"),
        entry("b", FOLDER),
        entry("b/c", PROGRAM, bytes(3 * MIB)),
        link("d", "/etc"),
        link("b/é", "../a"),
    )
    unpacked_size = unpack(archive(tmp_path, *entries), new, 4 * MIB, 10)
    assert unpacked_size == 1 + 3 * MIB + 4 + 4
    unpacked_paths = {str(path.relative_to(new)) for path in new.rglob("*")}
    assert unpacked_paths == {"a", "b", "b/c", "d", "b/é"}
    modes = {oct((new / path).stat().st_mode) for path in ("b", "b/c", "a")}
    assert modes == {"0o40755", "0o100755", "0o100644"}
    assert (new / "b/c").stat().st_mtime == 9
    assert (str((new / "d").readlink()), str((new / "b/é").readlink())) == ("/etc", "../a")


def test_endlessly_nested_folders_are_not_made(tmp_path: Path) -> None:
    deep = [entry("/".join("a" * depth), FOLDER) for depth in range(1, 300)]
    with pytest.raises(SetupFailed, match="200 folders are nested"):
        unpack(archive(tmp_path, *deep), tmp_path / "new", 1_000, 1_000)
