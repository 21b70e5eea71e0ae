"""The operation log is on the disk at once, and accepts entries from any thread."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from lab.drills.chaos.oplog import OperationLog, Seen


def test_the_log_is_on_the_disk_at_once_and_accepts_entries_from_any_thread(tmp_path: Path) -> None:
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
    written = [json.loads(line) for line in path.read_text().splitlines()]
    job_ids = [entry.job_id for entry in log.entries if isinstance(entry, Seen)]
    assert [row["job_id"] for row in written] == job_ids
    assert (len(written), written[0]["what"], written[0]["status"]) == (200, "seen", "queued")
    log.close()
