from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sandbox.room.collect import collect, lay
from sandbox.room.watch import CHUNK, Kept

WIDE = {"file_bytes": 100.0, "workspace_bytes": 1000.0, "workspace_files": 10.0}


def test_laid_files_that_stay_are_no_change(tmp_path: Path) -> None:
    files = {"a": b"1", "d/e/f": b"2"}
    lay(str(tmp_path), files)
    found = collect(str(tmp_path), files, WIDE)
    assert (found.changed, found.deleted, found.refused) == ({}, [], [])


def test_a_file_behind_a_link_is_gone(tmp_path: Path) -> None:
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "f").write_bytes(b"secret")
    lay(str(work), {"d/f": b"1"})
    (work / "d" / "f").unlink()
    (work / "d").rmdir()
    (work / "d").symlink_to(elsewhere)
    found = collect(str(work), {"d/f": b"1"}, WIDE)
    assert (found.changed, found.deleted) == ({}, ["d/f"])
    assert found.refused == ["d: a symbolic link"]


def test_a_file_that_grew_too_large_is_refused_not_gone(tmp_path: Path) -> None:
    lay(str(tmp_path), {"a": bytes(101)})
    found = collect(str(tmp_path), {"a": b"1"}, WIDE)
    assert (found.changed, found.deleted) == ({}, [])
    assert found.refused == ["a: 101 bytes, more than 100"]


def test_what_was_deleted_makes_room(tmp_path: Path) -> None:
    lay(str(tmp_path), {"new": bytes(90)})
    tight = {**WIDE, "workspace_bytes": 100.0, "workspace_files": 1.0}
    found = collect(str(tmp_path), {"old": bytes(90)}, tight)
    assert (list(found.changed), found.deleted, found.refused) == (["new"], ["old"], [])


@given(st.lists(st.binary(max_size=3 * CHUNK), max_size=6), st.integers(1, 2 * CHUNK))
def test_head_and_tail_are_those_of_the_whole(chunks: list[bytes], limit: int) -> None:
    kept = Kept(limit)
    for chunk in chunks:
        kept.add(chunk)
    whole = b"".join(chunks)
    assert len(kept.head) + len(kept.tail) == min(limit, len(whole))
    assert whole.startswith(kept.head)
    assert whole.endswith(kept.tail)
    assert kept.dropped == len(whole) - len(kept.head) - len(kept.tail)
