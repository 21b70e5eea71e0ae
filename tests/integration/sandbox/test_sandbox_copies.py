"""Directory trees on a kernel without overlays over a tmpfs: `local` runs begin with copies."""

from __future__ import annotations

import errno
import os
import struct
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from support.directory_trees import make_tree

from sandbox import policy
from sandbox.local import LocalSandbox
from sandbox.protocol import MIB, Command, IsolationLayer, Limits, RunResult

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
SETXATTR = {"x86_64": 188, "aarch64": 5}[os.uname().machine]
KERNEL = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
OLD_KERNEL = """#!/bin/bash
# bubblewrap as on a kernel without extended attributes on a tmpfs, like Debian 12's (6.1).
[ "$1" = --version ] && exit
exec {filter}< "$0.filter"
exec bwrap --seccomp $filter "$@"
"""
NO_ATTRIBUTES = (  # struct sock_filter: load the call's number, compare it, answer
    struct.pack("<HBBI", 0x20, 0, 0, 0)
    + struct.pack("<HBBI", 0x15, 0, 1, SETXATTR)
    + struct.pack("<HBBI", 0x06, 0, 0, 0x0005_0000 | errno.EOPNOTSUPP)
    + struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF_0000)
)


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory that every user can enter; pytest's own directory is closed to others."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest_asyncio.fixture
async def old_kernel(directory: Path) -> AsyncIterator[LocalSandbox]:
    bwrap = directory / "bwrap"
    bwrap.write_text(OLD_KERNEL)
    bwrap.chmod(0o755)
    (directory / "bwrap.filter").write_bytes(NO_ATTRIBUTES)
    sandbox = LocalSandbox(PYTHON, pool_size=0, bwrap=bwrap, trees_directory=directory / "layers")
    yield sandbox
    await sandbox.close()


async def test_without_an_overlay_runs_begin_with_copies_and_the_doctor_reports_the_reason(
    old_kernel: LocalSandbox, directory: Path
) -> None:
    layer = await repositories(old_kernel)
    assert layer.active
    assert layer.detail.startswith("copies: ")
    assert "memory" in layer.detail
    assert "extended attributes of tmpfs: Operation not supported" in layer.detail
    assert "6.6" in layer.detail
    make_tree(directory / "layers", "base", {"folder/x": b"1", "folder/y": b"2"})
    result = await run(old_kernel, "import os; os.rename('folder', 'renamed')")
    assert (result.changed, result.deleted) == (
        {"renamed/x": b"1", "renamed/y": b"2"},
        {"folder/x", "folder/y"},
    )


@pytest.mark.skipif(KERNEL < (6, 6), reason="this kernel's tmpfs has no attributes of users")
async def test_with_an_overlay_the_doctor_reports_it(directory: Path) -> None:
    sandbox = LocalSandbox(PYTHON, pool_size=0, trees_directory=directory / "layers")
    try:
        layer = await repositories(sandbox)
        assert (layer.active, layer.detail.partition(":")[0]) == (True, "overlay")
    finally:
        await sandbox.close()


async def test_a_copy_does_not_count_in_the_limits_of_its_run(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "INODES", 100)
    small_files = {f"{number}": b"" for number in range(200)}
    make_tree(directory, "base", {**small_files, "big": bytes(160 * MIB)})
    limits = Limits(
        memory_bytes=64 * MIB, workspace_bytes=8 * MIB, workspace_files=10, wall_seconds=60.0
    )
    sandbox = LocalSandbox(PYTHON, pool_size=0, trees_directory=directory, overlays=False)
    code = """
import os, time
time.sleep(0.1)
open('new', 'wb').write(bytes(6 << 20))
print(os.path.getsize('big') >> 20)
"""
    try:
        result = await run(sandbox, code, limits)
        assert (result.stdout.text, list(result.changed)) == ("160\n", ["new"]), result.stderr
    finally:
        await sandbox.close()


async def repositories(sandbox: LocalSandbox) -> IsolationLayer:
    (layer,) = (layer for layer in await sandbox.check() if layer.name == "repositories")
    return layer


async def run(sandbox: LocalSandbox, code: str, limits: Limits | None = None) -> RunResult:
    return await sandbox.run(Command(("python", "-c", code), trees=("base",)), limits or Limits())
