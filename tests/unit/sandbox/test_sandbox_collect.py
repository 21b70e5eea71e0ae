from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.agent.collect import collect
from sandbox.agent.supervise import CHUNK, BoundedOutput
from sandbox.agent.workspace import WrittenFiles, write_files

WIDE = {"file_bytes": 100.0, "workspace_bytes": 1000.0, "workspace_files": 10.0}


def test_laid_files_that_stay_are_no_change(tmp_path: Path) -> None:
    written = WrittenFiles(
        {"a": b"1", "d/e/f": b"2", "tool": b"x", "text": b"#!"},
        {"tool": True, "text": False},
        {"link": "a", "out": "/nowhere", "folder": "d"},
    )
    write_files(str(tmp_path), written)
    collected = collect(str(tmp_path), written, WIDE)
    assert (collected.changed, collected.links, collected.deleted, collected.refused) == (
        {},
        {},
        [],
        [],
    )


def test_modes_and_links_that_change_are_collected(tmp_path: Path) -> None:
    written = WrittenFiles(
        {"a": b"1", "b": b"2"}, {"b": True}, {"link": "a", "gone": "a", "file": "a"}
    )
    write_files(str(tmp_path), written)
    (tmp_path / "a").chmod(0o744)
    (tmp_path / "b").chmod(0o644)
    for name in ("link", "gone", "file"):
        (tmp_path / name).unlink()
    (tmp_path / "link").symlink_to("b")
    (tmp_path / "file").write_bytes(b"3")
    (tmp_path / "new").symlink_to("../out")
    (tmp_path / "odd").symlink_to("\u202eb")
    (tmp_path / "bytes").symlink_to(b"\xff".decode(errors="surrogateescape"))
    collected = collect(str(tmp_path), written, WIDE)
    assert (collected.changed, collected.executable) == (
        {"a": b"1", "b": b"2", "file": b"3"},
        ["a"],
    )
    assert (collected.links, collected.deleted) == ({"link": "b", "new": "../out"}, ["gone"])
    assert [line.partition(":")[0] for line in collected.refused] == ["bytes", "odd"]


def test_a_file_behind_a_link_is_gone(tmp_path: Path) -> None:
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "f").write_bytes(b"secret")
    written = WrittenFiles({"d/f": b"1"})
    write_files(str(work), written)
    (work / "d" / "f").unlink()
    (work / "d").rmdir()
    (work / "d").symlink_to(elsewhere)
    collected = collect(str(work), written, WIDE)
    assert (collected.changed, collected.deleted) == ({}, ["d/f"])
    assert collected.links == {"d": str(elsewhere)}


def test_a_file_that_grew_too_large_is_refused_not_gone(tmp_path: Path) -> None:
    write_files(str(tmp_path), WrittenFiles({"a": bytes(101)}))
    collected = collect(str(tmp_path), WrittenFiles({"a": b"1"}), WIDE)
    assert (collected.changed, collected.deleted) == ({}, [])
    assert collected.refused == ["a: 101 bytes, more than 100"]


@pytest.mark.parametrize("mode", [0, 0o111, 0o444, 0o600])
def test_directories_are_unlocked_first_the_top_one_too(tmp_path: Path, mode: int) -> None:
    work = tmp_path / "work"
    write_files(str(work), WrittenFiles({"d/e/f": b"1", "g": b"2"}))
    (work / "g").chmod(mode & 0o111)
    for directory in (work / "d" / "e", work / "d", work):
        directory.chmod(mode)
    collected = _as_nobody(str(tmp_path), str(work))
    assert (collected, work.stat().st_mode & 0o777) == ({"d/e/f": b"1", "g": b"2"}, 0o700)


def _as_nobody(top: str, work: str) -> dict[str, bytes]:
    """What `collect` finds as a user whom permissions bind, as root they do not."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if os.geteuid() == 0:
                for directory, names, files in os.walk(top):
                    for path in (directory, *(f"{directory}/{name}" for name in (*names, *files))):
                        os.chown(path, 65534, 65534)
                os.chroot(top)
                os.setresuid(65534, 65534, 65534)
                work = work.removeprefix(top)
            collected = collect(work, WrittenFiles({}), WIDE)
            os.write(write, repr(collected.changed).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as collected:
        changed: dict[str, bytes] = ast.literal_eval(collected.read().decode())
    os.waitpid(pid, 0)
    return changed


@given(st.lists(st.binary(max_size=3 * CHUNK), max_size=6), st.integers(1, 2 * CHUNK))
def test_head_and_tail_are_those_of_the_whole(chunks: list[bytes], limit: int) -> None:
    kept_stream = BoundedOutput(limit)
    for chunk in chunks:
        kept_stream.add(chunk)
    full_output = b"".join(chunks)
    assert len(kept_stream.head) + len(kept_stream.tail) == min(limit, len(full_output))
    assert full_output.startswith(kept_stream.head)
    assert full_output.endswith(kept_stream.tail)
    assert kept_stream.dropped == len(full_output) - len(kept_stream.head) - len(kept_stream.tail)
