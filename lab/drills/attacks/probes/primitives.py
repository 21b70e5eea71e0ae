"""Functions that probes share. Their source is sent into the sandbox with a probe."""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from lab.drills.attacks.probes.syscalls import SYSCALLS

T = TypeVar("T")


def attempt(act: Callable[..., T], *words: Any) -> T | None:
    """The result of `act`; None if it is refused (OSError)."""
    try:
        return act(*words)
    except OSError:
        return None


def allowed(act: Callable[..., object], *words: Any) -> bool:
    """Whether `act` is not refused (OSError)."""
    try:
        act(*words)
    except OSError:
        return False
    return True


def opens(path: str, flags: int) -> bool:
    """Whether the path can be opened with these flags. It is closed again; no byte is read or
    written."""
    descriptor = attempt(os.open, path, flags)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def read(path: str, size: int = -1) -> bytes | None:
    """The file's first bytes, or all of it; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(size)
    except OSError:
        return None


def names_in(folder: str) -> list[str]:
    """The names in a folder; empty if it cannot be listed."""
    return attempt(os.listdir, folder) or []


def write(path: str, data: bytes | str) -> None:
    """Make a file of these bytes, or this text."""
    with open(path, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)


def libc() -> ctypes.CDLL:
    """The C library, which keeps errno for `ctypes.get_errno`."""
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *words: Any) -> int:
    """One system call, of `SYSCALLS`: its answer, or the errno below zero.

    Words are ints, texts, buffers of ctypes, or lists of ints: an array of 64-bit words.
    """
    syscall = libc().syscall
    syscall.restype = ctypes.c_long

    def word(value: Any) -> Any:
        if isinstance(value, list):
            return (ctypes.c_int64 * len(value))(*value)
        if isinstance(value, str):
            return ctypes.c_char_p(value.encode())
        return ctypes.c_long(value) if isinstance(value, int) else value

    number = SYSCALLS[name][os.uname().machine == "aarch64"]
    if number is None:
        return -38  # ENOSYS
    arguments = [word(argument) for argument in words]
    answer: int = syscall(ctypes.c_long(number), *arguments)
    return answer if answer != -1 else -ctypes.get_errno()


def apart(act: Callable[..., int], *words: Any) -> int | None:
    """The result of `act` in a child process, an OSError as its negative errno; None if the child
    was killed. Re-raises unexpected errors of `act`.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(5)
            reply = str(int(act(*words)))
        except OSError as error:
            reply = str(-(error.errno or 1))
        except BaseException as error:  # noqa: BLE001  (raised by the parent)
            reply = repr(error)
        os.write(writing, reply.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        answer = file.read().decode()
    os.waitpid(child, 0)
    if answer and not answer.lstrip("-").isdigit():
        raise RuntimeError(answer)
    return int(answer) if answer else None


def child(act: Callable[..., object], *words: Any) -> int:
    """Fork a process that calls this function and ends; returns its pid."""
    pid = os.fork()
    if pid == 0:
        try:
            act(*words)
        finally:
            os._exit(0)
    return pid


def kill(*pids: int) -> None:
    """Kill children without a waiting parent."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def burn(seconds: float) -> None:
    """Use this amount of processor time, in seconds."""
    while time.process_time() < seconds:
        pass


def leave_process(inputs: dict[str, Any], seconds: float) -> None:
    """Start a program with the mark on its command line, in its own session."""
    subprocess.Popen(
        [sys.executable, "-c", f"import time; time.sleep({seconds})", inputs["mark"]],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def take_name(mark: str) -> None:
    """Make the mark this process's own name, so that the host finds the process."""
    libc().prctl(15, mark[:15].encode(), 0, 0, 0)  # PR_SET_NAME


def in_host_processes(inputs: dict[str, Any]) -> bool:
    """Whether this process lives in the process namespace of the drill, so that no sandbox
    surrounds it.
    """
    return bool(os.readlink("/proc/self/ns/pid") == inputs["pid_namespace"])


def visible() -> list[int]:
    """Every process that `/proc` lists."""
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())


def ancestors() -> set[int]:
    """This process and its ancestors, as far as they are visible."""
    pids, pid = set(), os.getpid()
    while pid > 0 and pid not in pids:
        pids.add(pid)
        stat = read(f"/proc/{pid}/stat")
        pid = int(stat.rpartition(b")")[2].split()[1]) if stat else 0
    return pids


def holds(inputs: dict[str, Any], data: bytes) -> bool:
    """Whether the secret is in `data`: a probe's own copy of the first letters does not count."""
    start = "".join(inputs["start"]).encode()
    matches = re.finditer(re.escape(start) + rb"[0-9a-f]{48}", data)
    return any(hashlib.sha256(match[0]).hexdigest() == inputs["digest"] for match in matches)


def in_own_memory(inputs: dict[str, Any]) -> str | None:
    """The position of the secret in this process's memory; reads one region at a time, at most a
    GiB.
    """
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    with open("/proc/self/maps") as file:
        regions = [line.split() for line in file]
    total = 0
    try:
        for addresses, rights, *_, name in regions:
            first, last = (int(address, 16) for address in addresses.split("-"))
            if rights[0] != "r" or last - first > 1 << 28 or total > 1 << 30 or name == "[vvar]":
                continue
            total += last - first
            try:
                data = os.pread(memory, last - first, first)
            except (OSError, OverflowError):
                continue
            if holds(inputs, data):
                return f"the secret in {last - first} bytes of its own memory ({name})"
    finally:
        os.close(memory)
    return None


def execute(code: str) -> int:
    """Put these bytes (hex) into executable memory and call them; returns the value of eax."""
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(bytes.fromhex(code))
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return int(ctypes.CFUNCTYPE(ctypes.c_int)(address)())


def bind_over(inputs: dict[str, Any], source: str, target: str) -> None:
    """Mount one file or folder over another, for this probe alone: never in the host's namespace.

    For a control with the drive `planting`.
    """
    if os.readlink("/proc/self/ns/mnt") == inputs["mount_namespace"]:
        raise RuntimeError("not in a mount namespace of its own: nothing is planted")
    if libc().mount(source.encode(), target.encode(), None, 4096, None):
        raise OSError(ctypes.get_errno(), f"cannot bind {source} to {target}")
