"""Whether runs can begin with layers here: one is made, and tried as a job on a repository would.

What may fail is the kernel's: an overlay of an unprivileged user, and in it a directory that is
made in the place of one that was removed.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from sandbox.layers import layer
from sandbox.protocol import Command, Layer, RunResult, SandboxUnavailable

NAME = "trial"
_FILE = "directory/file"
_CODE = f"""
import os
os.remove({_FILE!r})
os.rmdir('directory')
os.mkdir('directory')
open('directory/other', 'w').close()
"""
OVERLAY = (
    "overlay: a run begins with a repository's files, shared and read-only below what it writes"
)
COPIES = (
    "copies: each run begins with a copy of the repository's files, which takes as much memory as "
    "they do, beside the run's own"
)
COMMAND = Command(("python", "-c", _CODE), layers=(NAME,))


def make(top: Path, finish: Callable[[Path], None]) -> None:
    """Have the layer of the trial below `top`, unless it is there; `finish` it before."""
    if (top / NAME).is_dir():
        return
    made = Path(tempfile.mkdtemp(prefix=".trial-", dir=top))
    made.chmod(0o755)
    (made / _FILE).parent.mkdir()
    (made / _FILE).write_bytes(b"")
    finish(made)
    with contextlib.suppress(OSError):  # another worker's was quicker
        made.rename(top / NAME)
    shutil.rmtree(made, ignore_errors=True)


async def fault(run: Callable[[], Awaitable[RunResult]]) -> str | None:
    """What is wrong with a run of the trial; None where it is as it must be."""
    try:
        result = await run()
    except SandboxUnavailable as error:
        return str(error)
    if (result.changed, result.deleted) == ({"directory/other": b""}, frozenset({_FILE})):
        return None
    return f"{result.end}: {result.stderr.text}"


def report(found: str | None, way: str) -> Layer:
    """The layer, from the `fault` that was found and the way in which runs begin with layers."""
    loss = f"jobs on repositories cannot run here: {found}"
    return layer("repositories", way, loss, active=found is None)
