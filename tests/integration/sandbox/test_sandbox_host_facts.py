"""Facts of the host that code can read: the facts that docs/sandbox.md lists, and no others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox.local import LocalSandbox
from sandbox.protocol import Command, Limits

SYSTEM_PYTHON = Path("/usr/bin/python3")
SIZES = """
import json, os, sys
with open("/proc/self/mountinfo") as file:
    places = {line.split()[4] for line in file}
places |= {"/bin", sys.prefix, os.path.dirname(os.__file__), "/proc/self/root", "/proc/self/cwd"}
sizes = {}
for place in places:
    try:
        found = os.statvfs(place)
    except OSError:
        continue
    sizes[place] = (found.f_blocks * found.f_frsize, found.f_files)
print(json.dumps(sizes))
"""
ROOTS = """
with open("/proc/self/mountinfo") as file:
    rows = [line.split() for line in file]
print(*sorted({row[3] for row in rows if row[row.index("-") + 1] not in KINDS}))
"""


OWN = ("/", "/work", "/tmp", "/run", "/dev/shm", "/dev/null", "/dev/pts", "/proc")
"""File systems in memory, which belong to a sandbox or a base container."""


@pytest.mark.parametrize("program", [Command.python(SIZES), Command(("python", "-c", SIZES))])
async def test_no_file_system_shows_the_size_of_the_hosts_disks(program: Command) -> None:
    sandbox = LocalSandbox(SYSTEM_PYTHON, pool_size=0)
    try:
        result = await sandbox.run(program, Limits())
    finally:
        await sandbox.close()
    sizes = json.loads(result.stdout.text)
    assert {"/usr", "/etc", *OWN} <= sizes.keys()
    own_sizes = [sizes[path] for path in OWN]
    assert {path: size for path, size in sizes.items() if size not in own_sizes} == {}


async def test_the_mounts_show_only_paths_of_the_hosts_read_only_trees() -> None:
    sandbox = LocalSandbox(SYSTEM_PYTHON, pool_size=0)
    kinds = ("tmpfs", "proc", "devpts", "mqueue", "overlay", "devtmpfs")
    try:
        code = ROOTS.replace("KINDS", repr(kinds))
        result = await sandbox.run(Command.python(code), Limits())
    finally:
        await sandbox.close()
    (tree,) = result.stdout.text.split()
    assert tree.endswith("/usr"), "the interpreter's, and no more"
