"""`fettle audit export` against a small service: the file, and a reader that leaves."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from support.processes.fettle_command import FETTLE, environment
from support.servers.tiny_service import Answer, problem

AUDIT_LINE = (
    b'{"seq":%d,"at":"2026-11-21T12:00:00.000Z","tenant":"acme","kind":"signed_in",'
    b'"actor":{"name":"ada","key_id":"k1","person":"Ada"},"data":{},"prev":"0","hash":"1"}\n'
)


def audit_part(count: int) -> Answer:
    lines = b"".join(AUDIT_LINE % number for number in range(1, count + 1))
    return Answer(200, lines, {"Content-Type": "application/jsonl"})


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ([problem(422, "The request is not valid")], 2),
        ([audit_part(1000), problem(403, "The key may not do this")], 1),
        ([audit_part(0)], 1),
    ],
    ids=["refused", "refused later", "no entry"],
)
def test_an_export_that_fails_keeps_the_file(fettle, tiny, tmp_path, answers, code):
    tiny.on("GET /audit", *answers)
    kept_file, new_file = tmp_path / "keep.jsonl", tmp_path / "new.jsonl"
    kept_file.write_text("the last export\n")
    for file in (kept_file, new_file):
        tiny.on("GET /audit", *answers)
        assert fettle("audit", "export", "-o", str(file))[0] == code
    assert list(tmp_path.iterdir()) == [kept_file]
    assert kept_file.read_text() == "the last export\n"


def test_an_export_replaces_a_file_in_one_step(fettle, tiny, tmp_path):
    tiny.on("GET /audit", audit_part(2))
    file, link = tmp_path / "keep.jsonl", tmp_path / "link"
    file.write_text("the last export\n")
    link.symlink_to(file)
    assert fettle("audit", "export", "-o", str(link)) == (0, "", "")
    assert file.read_bytes() == audit_part(2).body
    assert set(tmp_path.iterdir()) == {file, link}
    code, _, error = fettle("audit", "export", "-o", str(tmp_path / "no" / "file"))
    assert (code, f"No such file or directory: {tmp_path}/no/file\n" in error) == (1, True)


def test_an_export_into_a_pipe_does_not_replace_the_pipe(fettle, tiny, tmp_path):
    tiny.on("GET /audit", audit_part(2))
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDWR)
    assert fettle("audit", "export", "-o", str(tmp_path / "pipe"))[0] == 0
    assert os.read(reader, 10_000) == audit_part(2).body
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("count", [1, 900], ids=["in the buffer", "longer than a pipe"])
def test_a_reader_of_an_export_may_leave(tiny, tmp_path, count):
    tiny.on("GET /audit", audit_part(count))
    reader, writer = os.pipe()
    os.close(reader)
    env = environment(tmp_path, FETTLE_URL=tiny.url, PYTHONUNBUFFERED="")
    ended = subprocess.run(
        [FETTLE, "audit", "export"], env=env, stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, b"")
