"""What a sandbox sends as left by a setup, and what of it reaches the worker's disk."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from worker.repositories.errors import SetupFailed
from worker.repositories.setups.archive import unpacked


def archive(folder: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(folder / "left.tar", "w") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    return folder / "left.tar"


def member(
    name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 1
) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, link, 0o6777
    made.size = size if kind in {tarfile.REGTYPE, tarfile.XHDTYPE} else 0
    return made


LINK = tarfile.SYMTYPE


@pytest.mark.parametrize(
    "members",
    [
        [member("../out")],
        [member("a/../../out")],
        [member("/etc/a")],
        [member("a"), member("a")],
        [member("a", LINK, ".."), member("a/out")],
        [member("a", LINK, ".."), member("a/out", LINK, "x")],
        [member("a", tarfile.LNKTYPE, "/etc/passwd")],
        [member("a", tarfile.FIFOTYPE)],
        [member("a", tarfile.CHRTYPE)],
        [member(".setup", LINK, "..")],
        [member(".git", LINK, "..")],
        [member(".git/config")],
        [member(".setup/x", LINK, ".."), member("./.setup/x/out")],
        [member("a", size=2_000)],
        [member(f"f{n}") for n in range(20)],
        [member("a"), member("a/b")],
        [member("a", LINK, "")],
        [member("a", LINK, "b" * 5_000)],
        [member("b" * 300)],
        [member("a/" * 12 + "b")],
    ],
)
def test_an_archive_that_is_up_to_no_good_is_not_kept(
    tmp_path: Path, members: list[tarfile.TarInfo]
) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(SetupFailed):
        unpacked(archive(tmp_path / "in", *members), tmp_path / "in" / "new", 1_000, 10)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "in" / "out").exists()


def test_a_header_is_not_read_that_takes_the_workers_memory(tmp_path: Path) -> None:
    long = member("a", tarfile.XHDTYPE, size=2_000_000)
    with pytest.raises(SetupFailed, match="a header is too long"):
        unpacked(archive(tmp_path, long), tmp_path / "new", 10_000_000, 10)


def test_names_of_an_archive_stay_in_its_folder(tmp_path: Path) -> None:
    taken = unpacked(
        archive(tmp_path, member("a"), member("b/./c"), member("d", LINK, "/etc")),
        tmp_path / "new",
        1_000,
        10,
    )
    assert taken == 2
    assert {str(path.relative_to(tmp_path / "new")) for path in (tmp_path / "new").rglob("*")} == {
        *("a", "b", "b/c", "d"),
    }
    assert oct((tmp_path / "new/b/c").stat().st_mode) == "0o100755"
    assert str((tmp_path / "new/d").readlink()) == "/etc"


def test_a_size_that_is_not_of_the_content_is_not_taken(tmp_path: Path) -> None:
    """A negative one would make room for one that fills the disk."""
    minus = member("a", tarfile.DIRTYPE)
    minus.size = -(10**9)
    holes = member("b", size=0)
    holes.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": "100000"}
    for each in (minus.tobuf(tarfile.GNU_FORMAT), holes.tobuf(tarfile.PAX_FORMAT)):
        (tmp_path / "left.tar").write_bytes(each + bytes(1_024))
        with pytest.raises(SetupFailed, match="another size than its content"):
            unpacked(tmp_path / "left.tar", tmp_path / f"new{len(each)}", 1_000_000, 10)


def test_folders_in_each_other_without_end_are_not_made(tmp_path: Path) -> None:
    deep = [member("a/" * depth + "b") for depth in (150, 300)]
    with pytest.raises(SetupFailed, match="200 folders are in each other"):
        unpacked(archive(tmp_path, *deep), tmp_path / "new", 1_000, 1_000)
