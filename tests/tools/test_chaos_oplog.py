"""The operation log: what is written comes back, from any thread, in order."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from support.cases.chaos_story import a_story

from drills.chaos.oplog import Left, Mended, OperationLog, Retried, Seen, Struck, read, written


def test_every_kind_of_entry_comes_back_as_it_was() -> None:
    story = a_story()
    moment = story.moment()
    entries = [
        *story.log,
        Seen(at=moment, job_id="plain", status="succeeded"),
        Struck(at=moment, fault="redis-kill", pids=(1, 2), blinds=True),
        Mended(at=moment, fault="redis-kill"),
        Left(at=moment, pid=3, command="bwrap", why="outlives its worker"),
        Retried(at=moment, asked=moment, status=None, job_id="cancelled"),
    ]
    assert list(read(map(written, entries))) == entries


def test_a_line_that_is_no_entry_is_refused() -> None:
    with pytest.raises(ValueError, match="no entry"):
        list(read(['{"what": "nonsense"}']))


def test_the_log_is_on_disk_at_once_and_takes_entries_from_any_thread(tmp_path: Path) -> None:
    path = tmp_path / "chaos.jsonl"
    log = OperationLog(path)

    def add() -> None:
        for number in range(50):
            log.add(Seen(job_id=f"j-{number}", status="queued"))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(read(path.read_text().splitlines())) == list(log.entries)
    assert len(log.entries) == 200
    log.close()
