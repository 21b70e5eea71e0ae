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


def test_unchanged_written_files_are_no_changes(tmp_path: Path) -> None:
    written = WrittenFiles(
        {"a": b"1", "d/e/f": b"2", "tool": b"x", "text": b"#!"},
        {"tool": True, "text": False},
        {"link": "a", "out": "/nowhere", "folder": "d"},
    )
    write_files(str(tmp_path), written)
    changes = collect(str(tmp_path), written, WIDE)
    assert (changes.changed, changes.links, changes.deleted, changes.refused) == ({}, {}, [], [])


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
    changes = collect(str(tmp_path), written, WIDE)
    assert (changes.changed, changes.executable) == ({"a": b"1", "b": b"2", "file": b"3"}, ["a"])
    assert (changes.links, changes.deleted) == ({"link": "b", "new": "../out"}, ["gone"])
    assert [line.partition(":")[0] for line in changes.refused] == ["bytes", "odd"]


def test_a_file_behind_a_link_counts_as_deleted(tmp_path: Path) -> None:
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "f").write_bytes(b"secret")
    written = WrittenFiles({"d/f": b"1"})
    write_files(str(work), written)
    (work / "d" / "f").unlink()
    (work / "d").rmdir()
    (work / "d").symlink_to(elsewhere)
    changes = collect(str(work), written, WIDE)
    assert (changes.changed, changes.deleted) == ({}, ["d/f"])
    assert changes.links == {"d": str(elsewhere)}


def test_a_file_that_grew_too_large_is_refused_and_not_deleted(tmp_path: Path) -> None:
    write_files(str(tmp_path), WrittenFiles({"a": bytes(101)}))
    changes = collect(str(tmp_path), WrittenFiles({"a": b"1"}), WIDE)
    assert (changes.changed, changes.deleted) == ({}, [])
    assert changes.refused == ["a: 101 bytes, more than 100"]


@pytest.mark.parametrize("mode", [0, 0o111, 0o444, 0o600])
def test_closed_directories_are_opened_also_the_top_one(tmp_path: Path, mode: int) -> None:
    work = tmp_path / "work"
    write_files(str(work), WrittenFiles({"d/e/f": b"1", "g": b"2"}))
    (work / "g").chmod(mode & 0o111)
    for directory in (work / "d" / "e", work / "d", work):
        directory.chmod(mode)
    changed = _collect_unprivileged(str(tmp_path), str(work))
    assert (changed, work.stat().st_mode & 0o777) == ({"d/e/f": b"1", "g": b"2"}, 0o700)


def _collect_unprivileged(top: str, work: str) -> dict[str, bytes]:
    """The changed files that `collect` returns to an unprivileged user."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if os.geteuid() == 0:
                for folder, names, files in os.walk(top):
                    for path in (folder, *(f"{folder}/{name}" for name in (*names, *files))):
                        os.chown(path, 65534, 65534)
                os.chroot(top)
                os.setresuid(65534, 65534, 65534)
                work = work.removeprefix(top)
            changes = collect(work, WrittenFiles({}), WIDE)
            os.write(write, repr(changes.changed).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        changed: dict[str, bytes] = ast.literal_eval(pipe.read().decode())
    os.waitpid(pid, 0)
    return changed


@given(st.lists(st.binary(max_size=3 * CHUNK), max_size=6), st.integers(1, 2 * CHUNK))
def test_head_and_tail_are_those_of_the_full_output(chunks: list[bytes], limit: int) -> None:
    bounded = BoundedOutput(limit)
    for chunk in chunks:
        bounded.add(chunk)
    output = b"".join(chunks)
    assert len(bounded.head) + len(bounded.tail) == min(limit, len(output))
    assert output.startswith(bounded.head)
    assert output.endswith(bounded.tail)
    assert bounded.dropped == len(output) - len(bounded.head) - len(bounded.tail)
