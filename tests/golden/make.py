"""Writes a golden checkpoint: a job as an earlier release leaves it in Redis, cut short.

    python tests/golden/make.py COMMIT CUT FILE

runs a job with the code of COMMIT (this repository's, in a directory of its own), a real Redis and
a real worker, until CUT, and writes every key of it to FILE:

    paused      it waits for a person, behind one pass of the executor
    killed      its worker has died in the middle of a pass, behind one run (a commit with fail
                points, of which 40c7faf is the first that has all)

The files kept here were made so, with the libraries of `requirements/dev.lock`:

    python tests/golden/make.py 5386aaa paused tests/golden/5386aaa-paused.json
    python tests/golden/make.py 5386aaa killed tests/golden/5386aaa-killed.json

5386aaa is the last commit that wrote format 3.
Keys and values are text in Latin-1, a character for each byte.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
TASK = "Write the numbers from one to three to a file."
FIRST = "open('n.txt', 'w').write('1 2')\nprint('wrote two')"
SECOND = "open('n.txt', 'a').write(' 3')\nprint(open('n.txt').read())"
FEEDBACK = "The three is missing."
OURS_NO_MORE = ("fettle:worker", "fettle:turn:", "fettle:events:")
"""Keys that tell of the fleet, and not of the job."""


def turns(recorded: Any) -> list[Any]:
    """What the job's model says, whoever asks: the first pass, one more, the critic."""
    return [
        recorded.plans("one to three"),
        recorded.runs("one to three", FIRST, 0),
        recorded.answers("wrote two", "Two numbers are there.", 1),
        recorded.runs(FEEDBACK, SECOND, 2),
        recorded.answers("1 2 3", "All three are there.", 3),
        {**recorded.approves("r1"), "expect": "(revision 1)"},
        {**recorded.approves("r2"), "expect": "(revision 2)"},
    ]


async def leave(cut: str, folder: Path) -> dict[str, Any]:
    """Run the job to its cut with the code that this process was started with."""
    # of the release whose code this is
    import redis.asyncio  # noqa: PLC0415
    from support.graph import recorded  # noqa: PLC0415
    from support.processes import deployment  # noqa: PLC0415

    from jobs.model.record import Status  # noqa: PLC0415
    from jobs.model.spec import JobSpec  # noqa: PLC0415

    with deployment.running_deployment(folder) as made:
        said = turns(recorded)
        model = made.record("golden", said)
        worker = made.worker(**({"fail_point": "after_journal:3"} if cut == "killed" else {}))
        async with made.operations() as operations:
            spec = JobSpec(TASK, model=model, review=cut == "paused")
            job_id = await made.submit(operations, spec)
            if cut == "paused":
                await made.until(operations, job_id, Status.AWAITING_REVIEW)
                made.stop_workers()
            else:
                await asyncio.to_thread(worker.wait, 60)
            async with redis.asyncio.Redis.from_url(made.redis_url) as client:
                kept = await keys(client)
    return {"job_id": job_id, "cut": cut, "turns": said, "keys": kept, "blobs": blobs(folder)}


async def keys(client: Any) -> list[dict[str, Any]]:
    """Every key of the job, with its type and value."""
    read = {
        "string": client.get,
        "hash": client.hgetall,
        "list": lambda key: client.lrange(key, 0, -1),
        "set": client.smembers,
        "zset": lambda key: client.zrange(key, 0, -1, withscores=True),
    }
    found = []
    for key in sorted(await client.keys("fettle:*")):
        if not key.decode().startswith(OURS_NO_MORE):
            kind = (await client.type(key)).decode()
            found.append({"key": text(key), "type": kind, "value": text(await read[kind](key))})
    return found


def blobs(folder: Path) -> list[str]:
    """The bytes that the job refers to, in base 64."""
    stored = (path for path in (folder / "data" / "blobs").rglob("*") if path.is_file())
    return [base64.b64encode(path.read_bytes()).decode() for path in sorted(stored)]


def text(value: Any) -> Any:
    """Bytes as Latin-1 text, in whatever holds them; sets in order."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, dict):
        return {text(key): text(item) for key, item in sorted(value.items())}
    if isinstance(value, set):
        return sorted(map(text, value))
    if isinstance(value, (list, tuple)):
        return [text(item) for item in value]
    return value


def main(commit: str, cut: str, file: str) -> None:
    """Unpack the commit, and run this very script with its code."""
    with tempfile.TemporaryDirectory() as folder:
        release, work = Path(folder) / "release", Path(folder) / "work"
        release.mkdir()
        work.mkdir()
        packed = subprocess.run(
            ["git", "-C", REPOSITORY, "archive", commit], stdout=subprocess.PIPE, check=True
        )
        subprocess.run(["tar", "x", "-C", release], input=packed.stdout, check=True)
        (release / ".venv").symlink_to(REPOSITORY / ".venv")  # its rooms want their Python there
        ran = subprocess.run(
            [sys.executable, __file__, cut, work],
            env={**os.environ, "PYTHONPATH": f"{release}:{release / 'tests'}"},
            cwd=release,
            stdout=subprocess.PIPE,
            check=True,
        )
    left = {"commit": commit, **json.loads(ran.stdout)}
    Path(file).write_text(json.dumps(left, indent=1, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        main(*sys.argv[1:])
    else:
        print(json.dumps(asyncio.run(leave(sys.argv[1], Path(sys.argv[2])))))
