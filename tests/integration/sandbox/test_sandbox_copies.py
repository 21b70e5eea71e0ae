"""Layers where the kernel mounts no overlay over a tmpfs: runs of `local` begin with copies."""

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
from support import layers

from sandbox import policy
from sandbox.local import LocalSandbox
from sandbox.protocol import MIB, Command, IsolationLayer, Limits, RunResult

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
SETXATTR = {"x86_64": 188, "aarch64": 5}[os.uname().machine]
KERNEL = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
OLD_KERNEL = """#!/bin/bash
# bubblewrap on a kernel whose tmpfs has no attributes of users, as that of Debian 12 (6.1).
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
def layers_directory() -> Iterator[Path]:
    """A directory that every user reaches; pytest's own is closed to others."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest_asyncio.fixture
async def old_kernel(layers_directory: Path) -> AsyncIterator[LocalSandbox]:
    bwrap = layers_directory / "bwrap"
    bwrap.write_text(OLD_KERNEL)
    bwrap.chmod(0o755)
    (layers_directory / "bwrap.filter").write_bytes(NO_ATTRIBUTES)
    sandbox = LocalSandbox(
        PYTHON, pool_size=0, bwrap=bwrap, trees_directory=layers_directory / "layers"
    )
    yield sandbox
    await sandbox.close()


async def test_without_an_overlay_runs_begin_with_copies_and_the_doctor_says_why(
    old_kernel: LocalSandbox, layers_directory: Path
) -> None:
    layer = await repositories(old_kernel)
    assert layer.active
    assert layer.detail.startswith("copies: ")
    assert "memory" in layer.detail
    assert "extended attributes of tmpfs: Operation not supported" in layer.detail
    assert "6.6" in layer.detail
    layers.make(layers_directory / "layers", "base", {"folder/x": b"1", "folder/y": b"2"})
    result = await run(old_kernel, "import os; os.rename('folder', 'renamed')")
    assert (result.changed, result.deleted) == (
        {"renamed/x": b"1", "renamed/y": b"2"},
        {"folder/x", "folder/y"},
    )


@pytest.mark.skipif(KERNEL < (6, 6), reason="this kernel's tmpfs has no attributes of users")
async def test_with_an_overlay_nothing_is_copied(layers_directory: Path) -> None:
    sandbox = LocalSandbox(PYTHON, pool_size=0, trees_directory=layers_directory / "layers")
    try:
        layer = await repositories(sandbox)
        assert (layer.active, layer.detail.partition(":")[0]) == (True, "overlay")
    finally:
        await sandbox.close()


async def test_a_copy_counts_in_no_limit_of_its_run(
    layers_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "INODES", 100)
    numbered_files = {f"{number}": b"" for number in range(200)}
    layers.make(layers_directory, "base", {**numbered_files, "big": bytes(160 * MIB)})
    limits = Limits(
        memory_bytes=64 * MIB, workspace_bytes=8 * MIB, workspace_files=10, wall_seconds=60.0
    )
    sandbox = LocalSandbox(PYTHON, pool_size=0, trees_directory=layers_directory, overlays=False)
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
    (repositories,) = (layer for layer in await sandbox.check() if layer.name == "repositories")
    return repositories


async def run(sandbox: LocalSandbox, code: str, limits: Limits | None = None) -> RunResult:
    return await sandbox.run(Command(("python", "-c", code), trees=("base",)), limits or Limits())
