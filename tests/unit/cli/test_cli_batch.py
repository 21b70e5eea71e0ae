"""`fettle run --batch` against a small service: files that are left out, and a lost connection."""

from __future__ import annotations

import re

from support.servers.tiny_service import Answer, job

from cli.main import run


def test_files_left_out_of_a_batch_are_named(fettle, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("1")
    (tmp_path / "data" / ".hidden").write_text("2")
    (tmp_path / "tasks.jsonl").write_text(
        '{"task": "x"}\n'
        + "[" * 100_000
        + '\n{"task": "\\ud800"}\n{"step_minutes": NaN}'
        + '\n{"task": "y", "model": "a", "model": "b"}'
    )
    row = {"index": 0, "job": job(status="queued"), "replayed": False, "problem": None}
    tiny.on("POST /jobs/batch", Answer(200, {"id": "b1", "retryable": 0, "jobs": [row]}))
    code, out, err = fettle("run", "--batch", "tasks.jsonl", "--file", "data", "--no-wait")
    assert (code, out) == (1, "j1\n")
    assert "left out of the directories: 1 (hidden)" in err
    for number in (2, 3, 4):
        assert f"line {number}: The line cannot be read as JSON" in err
    assert "line 5: The line cannot be read as JSON: an object has the key 'model' twice" in err


def test_after_a_lost_connection_the_batch_can_be_continued(capsys, tmp_path):
    (tmp_path / "tasks.jsonl").write_text('{"task": "x"}\n')
    code = run(["--url", "http://127.0.0.1:1", "run", "--batch", str(tmp_path / "tasks.jsonl")])
    assert code == 3
    assert re.search(r"continue with --key [0-9a-f]{32}", capsys.readouterr().err)
