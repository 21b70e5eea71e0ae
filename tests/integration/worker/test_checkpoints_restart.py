"""A graph outlives its process and its Redis: each step here runs in a new process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from redis.asyncio import Redis
from support.graph import checkpointed_graph
from support.graph.checkpoint_savers import ListingSaver, unfenced
from support.servers import redis_servers

REPOSITORY = Path(__file__).parents[3]


def run(server, notes, command):
    return subprocess.run(
        [sys.executable, checkpointed_graph.__file__, server.url, notes, command],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=REPOSITORY,
        env={"PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'tests'}"},
    )


def report(finished):
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


async def test_a_job_goes_on_after_its_process_and_its_redis_were_killed(tmp_path):
    binary = next(iter(redis_servers.binaries().values()))
    notes, data = tmp_path / "notes", tmp_path / "redis"
    with redis_servers.start(binary, data) as server:
        assert run(server, notes, "start").returncode == -signal.SIGKILL
        server.kill()
    assert notes.read_text().split() == ["plan", "draft"]

    with redis_servers.start(binary, data) as server:
        paused = report(run(server, notes, "continue"))
        server.kill()
    assert paused["next"] == ["gate"]
    assert list(paused["asked"].values()) == [{"question": "good?"}]
    assert notes.read_text().split() == ["plan", "draft", "finish"]

    (interrupt_id,) = paused["asked"]
    with redis_servers.start(binary, data) as server:
        done = report(run(server, notes, json.dumps({interrupt_id: "yes"})))
        again = report(run(server, notes, json.dumps({interrupt_id: "no"})))
        async with Redis.from_url(server.url) as redis:
            saver = ListingSaver(redis, unfenced(redis))
            namespaces = {
                found.config["configurable"]["checkpoint_ns"].partition(":")[0]
                async for found in saver.alist(
                    {"configurable": {"thread_id": checkpointed_graph.THREAD}}
                )
            }
            await saver.adelete_thread(checkpointed_graph.THREAD)
            assert await redis.dbsize() == 0
    assert done == again
    assert done["next"] == []
    assert done["trail"].count("yes") == 1
    assert notes.read_text().split() == ["plan", "draft", "finish", "done"]
    assert namespaces == {"", "work"}
