"""Writers and sealers of an audit log are killed at any moment: no entry is lost or doubled."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
from collections import Counter
from pathlib import Path

from support.jobs.job_examples import TENANT

from jobs.audit.verification import verify_log
from jobs.store.redis_store import RedisStore

PROCESS = Path(__file__).parents[1] / "support/processes/audit_process.py"
KILLS = 6
NUMBERS_PER_WRITER = 1_000_000


async def killed(role: str, redis_url: str, first: int = 0) -> list[int]:
    """Start a process, kill it a moment after it has begun; the numbers that it printed."""
    args = [sys.executable, str(PROCESS), role, redis_url, TENANT, str(first)]
    process = await asyncio.create_subprocess_exec(*args, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    await asyncio.sleep(random.uniform(0.0, 0.15))
    process.send_signal(signal.SIGKILL)
    output, _ = await process.communicate()
    complete_lines, _, _ = output.rpartition(b"\n")
    return [int(line) for line in complete_lines.split()]


async def test_killed_writers_and_sealers(redis_url: str, redis_store: RedisStore) -> None:
    acknowledged = list[int]()

    async def kill_writers() -> None:
        for attempt in range(KILLS):
            acknowledged.extend(await killed("write", redis_url, attempt * NUMBERS_PER_WRITER))

    async def kill_sealers() -> None:
        for _ in range(KILLS):
            await killed("seal", redis_url)

    await asyncio.gather(kill_writers(), kill_sealers(), kill_sealers())
    sealed_before = (await redis_store.audit.state(TENANT)).head.seq
    await redis_store.audit.seal(TENANT)
    lines = [line + b"\n" for line in await redis_store.audit.read(TENANT, 0, 1_000_000)]
    log = verify_log(lines)
    written = Counter(json.loads(line)["data"]["number"] for line in lines)
    assert set(written.values()) == {1}, "no entry is doubled"
    assert set(acknowledged) <= written.keys(), "no entry is lost"
    assert len(written) - len(acknowledged) <= KILLS, "a killed writer may not print its last entry"
    assert log.head.seq == len(written)
    assert sealed_before > 0
