"""Disks, files, inodes."""

from __future__ import annotations

import os
import resource

from lab.drills.attacks.attack import Inputs, RaisedLimits, attack
from lab.drills.attacks.context import Context
from lab.drills.attacks.judges import broken, held_verdict, reached
from lab.drills.attacks.outcome import AttackVerdict
from lab.drills.attacks.probes.primitives import attempt
from sandbox.protocol import MIB, End, Limits

SMALL = Limits(workspace_bytes=16 * MIB)
FULL = frozenset({End.DISK, End.MEMORY})
ENOUGH = 300 * MIB
WORKSPACE = 8 * MIB
OPEN_FILES = 64


@attack(limits=SMALL, ends=FULL)
def disk_fill(inputs: Inputs) -> str | None:
    """Fills every writable place with files of an allowed size."""
    written = 0
    paths = []
    block = bytes(1 << 20)
    for folder in (
        ".",
        "/tmp",
        "/dev/shm",
        "/var/tmp",
        "/run",
        "/",
        "/home",
        "/dev",
        "/dev/mqueue",
    ):
        for number in range(64):
            path = f"{folder}/{inputs['mark']}-{number}"
            try:
                with open(path, "wb") as file:
                    paths.append(path)
                    for _ in range(8):
                        written += file.write(block)
            except OSError:
                break
            if written >= ENOUGH:
                break
    for path in paths:
        os.unlink(path)
    return f"{written >> 20} MiB on disks" if written >= ENOUGH else None


@attack(limits=SMALL, ends=FULL)
def disk_unlinked(inputs: Inputs) -> str | None:
    """Fills the disk with files that no longer have a name."""
    written = 0
    block = bytes(1 << 20)
    for folder in (".", "/tmp", "/dev/shm", "/var/tmp"):
        path = f"{folder}/{inputs['mark']}"
        wrote = len(block)
        while written < ENOUGH and wrote == len(block):
            file = attempt(os.open, path, os.O_CREAT | os.O_WRONLY)  # the file stays open
            if file is None:
                break
            os.unlink(path)
            for _ in range(8):
                wrote = attempt(os.write, file, block) or 0
                written += wrote
    return f"{written >> 20} MiB in nameless files" if written >= ENOUGH else None


@attack(ends=FULL)
def inode_fill(inputs: Inputs) -> str | None:
    """Makes empty files without end: they take no bytes on the disk, but kernel memory."""
    count, enough = 0, 100_000
    top = os.getcwd()
    for folder in (".", "/tmp", "/dev/shm", "/run"):
        try:
            os.mkdir(f"{folder}/{inputs['mark']}")
            os.chdir(f"{folder}/{inputs['mark']}")
            while count < enough:
                os.close(os.open(str(count), os.O_CREAT | os.O_WRONLY))
                count += 1
        except OSError:
            pass
        finally:
            os.chdir(top)
        if count >= enough:
            return f"{count} files"
    return None


@attack(limits=Limits(open_files=OPEN_FILES))
def fd_exhaustion() -> str | None:
    """Opens files until an open fails, after it has requested a higher limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    descriptors: list[int] = []
    try:
        while len(descriptors) < 2 * OPEN_FILES:
            descriptors.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        return None
    finally:
        for fd in descriptors:
            os.close(fd)
    return f"{len(descriptors)} open files"


@attack(limits=Limits(file_bytes=MIB), ends=frozenset({End.DISK}))
def sparse_giant() -> str | None:
    """Makes a sparse file that is far larger than a file may be."""
    for size in (64 << 20, 1 << 30, 1 << 40):
        for make, words in (
            (os.ftruncate, (size,)),
            (os.pwrite, (b"x", size)),
            (os.posix_fallocate, (size, 1)),
        ):
            fd = os.open("giant", os.O_CREAT | os.O_RDWR)
            try:
                make(fd, *words)
                return f"a file of {os.fstat(fd).st_size} bytes"
            except OSError:
                continue
            finally:
                os.close(fd)
                os.unlink("giant")
    return None


async def a_total_is_kept(context: Context) -> AttackVerdict:
    observation = await context.run()
    size = sum(map(len, observation.result.changed.values()))
    if size > WORKSPACE:
        return reached(f"{size} bytes were collected")
    if observation.seconds > 10:
        return reached(f"collecting took {observation.seconds:.1f} s")
    if observation.result.end is not End.EXITED or not observation.result.refused:
        return broken(f"{observation.result.end}, {len(observation.result.refused)} refused")
    return held_verdict(f"{size} bytes collected, the rest refused")


@attack(
    limits=Limits(file_bytes=2 * MIB, workspace_bytes=WORKSPACE),
    drive=a_total_is_kept,
    control=RaisedLimits(Limits(file_bytes=2 * MIB, workspace_bytes=64 * MIB)),
)
def sparse_collection() -> str | None:
    """Leaves a thousand sparse files: quickly made, gigabytes to collect."""
    for number in range(1_000):
        with open(f"sparse-{number}", "wb") as file:
            file.truncate(2 << 20)
    return None
