"""Rights, namespaces, and other processes."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import stat
import struct
import subprocess
import sys
import time
from typing import Any

from lab.drills.attacks.attack import BaselineControl, attack
from lab.drills.attacks.probes.primitives import (
    allowed,
    apart,
    attempt,
    call,
    child,
    kill,
    libc,
    names_in,
    opens,
    read,
    visible,
)
from lab.drills.attacks.probes.syscall_table import needs_root

ROOT, OWN_HOST_NAME = BaselineControl(root=True), BaselineControl(root=True, unshare=("--uts",))
AS_ITSELF = BaselineControl(root=os.geteuid() == 0)
"""A control with the drill's own rights: it may read the process that reaps it."""
NEW_USER = 0x10000000
NAMESPACES = {
    "mount": 0x20000,
    "cgroup": 0x2000000,
    "uts": 0x4000000,
    "ipc": 0x8000000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "time": 0x80,
}


@attack(control=AS_ITSELF)
def agent_memory() -> str | None:
    """Reads the memory of the process that started it: process_vm_readv, /proc/PID/mem."""
    for pid in dict.fromkeys((os.getppid(), 1)):
        lines = (read(f"/proc/{pid}/maps") or b"").decode().splitlines()
        start = next((int(line.partition("-")[0], 16) for line in lines if " r" in line), 0x400000)
        buffer = ctypes.create_string_buffer(16)
        local_vector, remote_vector = [ctypes.addressof(buffer), 16], [start, 16]
        size = call("process_vm_readv", pid, local_vector, 1, remote_vector, 1, 0)
        if size > 0:
            return f"{size} bytes of process {pid} by process_vm_readv"
        try:
            with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
                memory.seek(start)
                return f"{len(memory.read(16))} bytes of process {pid} by its /proc/{pid}/mem"
        except OSError:
            continue
    return None


@attack(control=AS_ITSELF)
def pidfd_getfd() -> str | None:
    """Takes open descriptors out of the process that started it: pidfd_getfd."""
    for pid in dict.fromkeys((os.getppid(), 1)):
        handle = attempt(os.pidfd_open, pid)
        for descriptor in range(64) if handle is not None else ():
            if call("pidfd_getfd", handle, descriptor, 0) >= 0:
                return f"descriptor {descriptor} of process {pid}"
    return None


@attack()
def ptrace() -> str | None:
    """Traces the process that started it, and one of its own children: ptrace."""
    seize, victim = 0x4206, child(time.sleep, 5)
    try:
        for name, pid in (("parent", os.getppid()), ("process 1", 1), ("child", victim)):
            if call("ptrace", seize, pid, 0, 0) == 0:
                return f"traced its {name}"
    finally:
        kill(victim)
        os.waitpid(victim, 0)
    return None


@attack(control=AS_ITSELF)
def proc_links() -> str | None:
    """Goes through `/proc/PID/root`, `cwd`, `exe`, `fd` and `map_files` of other processes."""
    pids = set(visible()) - {os.getpid()}
    for pid in sorted(pids, key=lambda each: each != os.getppid()):
        names = ["root", "cwd", "exe"]
        for folder in ("fd", "map_files"):
            names += [f"{folder}/{name}" for name in names_in(f"/proc/{pid}/{folder}")]
        for link in (f"/proc/{pid}/{name}" for name in names):
            # The files are neither opened for reading nor followed: in a control they belong to
            # other users.
            if opens(link, os.O_PATH):
                return f"{link} -> {attempt(os.readlink, link)}"
    return None


def may_not_write_its_interpreter() -> str | None:
    if os.access(os.path.realpath(sys.executable), os.W_OK):
        return None
    return "the drill may not write its own interpreter, so it cannot show that it would notice"


@attack(control=AS_ITSELF, absent=may_not_write_its_interpreter)
def executable_overwrite() -> str | None:
    """Writes into the program that runs it, through `/proc/PID/exe` (as in CVE-2019-5736)."""
    for pid in ("self", os.getppid(), 1):
        for flags in (os.O_WRONLY, os.O_WRONLY | os.O_APPEND):
            try:
                os.close(os.open(f"/proc/{pid}/exe", flags))  # no byte is written
            except OSError as error:
                if error.errno != errno.ETXTBSY:
                    continue
            return f"/proc/{pid}/exe, but that it runs: a matter of waiting"
    return None


@attack(control=ROOT)
def gain_rights() -> str | None:
    """Becomes root, or gains capabilities: setuid and its kin, capset, securebits, ambient."""
    version, admin = 0x20080522, 1 << 12  # CAP_NET_ADMIN
    securebits, keep_caps, ambient, raise_it = 28, 1 << 4, 47, 2
    both = admin | admin << 32

    def heritable() -> bool:
        return call("capset", [version], [both, admin, 0]) == 0

    actions: dict[str, Any] = {
        "setuid": lambda: allowed(os.setuid, 0),
        "setgid": lambda: allowed(os.setgid, 0),
        "setresuid": lambda: allowed(os.setresuid, 0, 0, 0),
        "setgroups": lambda: allowed(os.setgroups, [0]),
        "capset": lambda: call("capset", [version], [both, 0, 0]) == 0,
        "securebits": lambda: libc().prctl(securebits, keep_caps, 0, 0, 0) == 0,
        "ambient": lambda: heritable() and libc().prctl(ambient, raise_it, 12, 0, 0) == 0,
    }
    passed = [name for name, act in actions.items() if (apart(act) or 0) > 0]
    with open("/proc/self/status") as file:
        capabilities = [
            line.split()[1] for line in file if line.startswith(("CapEff", "CapPrm", "CapBnd"))
        ]
    if passed or int(capabilities[0], 16) or int(capabilities[1], 16):
        return f"{', '.join(passed) or 'capabilities'}, with {capabilities}"
    return None


@attack()
def setuid_programs() -> str | None:
    """Starts programs that would run as root, because they have the setuid bit."""

    def status(pid: int | str) -> dict[str, list[str]]:
        with open(f"/proc/{pid}/status") as file:
            return {line.split(":")[0]: line.split()[1:] for line in file}

    programs = []
    for folder in ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/lib/openssh"):
        for path in (f"{folder}/{name}" for name in sorted(names_in(folder))):
            kind = os.stat(path) if os.path.exists(path) else None
            if kind and stat.S_ISREG(kind.st_mode) and kind.st_mode & stat.S_ISUID:
                programs.append(path)
    for path in programs:
        quiet = subprocess.DEVNULL
        try:
            program = subprocess.Popen([path, "--help"], stdin=quiet, stdout=quiet, stderr=quiet)
        except OSError:
            continue
        until, wait_options = time.monotonic() + 1, os.WEXITED | os.WNOWAIT | os.WNOHANG
        while not os.waitid(os.P_PID, program.pid, wait_options) and time.monotonic() < until:
            # A process that has ended, but was not waited for, still shows its user.
            time.sleep(0.01)
        real, effective, saved, _ = status(program.pid)["Uid"]
        program.kill()
        program.wait()
        if real not in {effective, saved}:
            return f"{path} ran as {effective}, for {real}"
    if status("self")["NoNewPrivs"] == ["0"]:
        return f"nothing keeps it from gaining rights by a program; found: {programs}"
    return None


@attack(control=ROOT)
def user_namespace() -> str | None:
    """Makes a user namespace, in which it would have all capabilities: unshare, clone, clone3."""

    def forked(name: str, *words: Any) -> int:
        pid = call(name, *words)
        if pid == 0:
            os._exit(0)
        if pid > 0:
            os.waitpid(pid, 0)
        return pid

    end_signal = int(signal.SIGCHLD)
    answers = {
        "unshare": apart(call, "unshare", NEW_USER),
        "clone": apart(forked, "clone", NEW_USER | end_signal, 0, 0, 0, 0),
        "clone3": apart(forked, "clone3", [NEW_USER, 0, 0, 0, end_signal, 0, 0, 0], 64),
    }
    passed = [action for action, answer in answers.items() if answer is not None and answer >= 0]
    return f"a user namespace by {', '.join(passed)}" if passed else None


@attack(control=OWN_HOST_NAME)
def namespaces() -> str | None:
    """Makes namespaces of all other kinds: mount, process, network, ipc, uts, cgroup, time."""
    entered = [name for name, flag in NAMESPACES.items() if apart(call, "unshare", flag) == 0]
    return f"namespaces of its own: {', '.join(entered)}" if entered else None


@attack(control=OWN_HOST_NAME)
def setns() -> str | None:
    """Enters namespaces of other processes, and its own again: setns by /proc/PID/ns, by pidfd."""
    everything = 0x20000 | 0x4000000 | 0x8000000 | 0x40000000
    for pid in dict.fromkeys((1, os.getppid(), os.getpid())):
        handle = attempt(os.pidfd_open, pid)
        if handle is not None and apart(call, "setns", handle, everything) == 0:
            return f"all of process {pid}"
        for kind in ("mnt", "net", "pid", "ipc", "uts", "cgroup", "user"):
            space = attempt(os.open, f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
            if space is not None and apart(call, "setns", space, 0) == 0:
                return f"the {kind} namespace of process {pid}"
    return None


def takes_precedence() -> str | None:
    """Gets priority over its neighbours: real-time scheduling, nice, I/O classes, OOM score."""

    def spared() -> int:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("-1")  # 0 is the value of every process
        return 1

    actions = {
        "real-time": lambda: allowed(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1)),
        "nice": lambda: os.nice(-5) < 0,
        "the last to be killed": spared,
        "input and output": lambda: call("ioprio_set", 1, 0, 1 << 13) == 0,
    }
    return ", ".join(name for name, act in actions.items() if (apart(act) or 0) > 0) or None


precedence = needs_root(attack(control=ROOT)(takes_precedence))


@attack()
def personality() -> str | None:
    """Switches off random addresses for itself and its children: personality."""
    fixed_addresses, readable_is_executable = 0x40000, 0x400000

    def become(persona: int) -> int:
        call("personality", persona)
        return call("personality", 0xFFFFFFFF)  # only reads the value

    for persona in (fixed_addresses, readable_is_executable):
        if apart(become, persona) == persona:
            return f"personality {persona:#x}"
    return None


@attack()
def process_options() -> str | None:
    """Forges the kernel's reports about it, and changes how it is counted and handled: prctl."""
    size = ctypes.c_uint()
    # Each option is set to its present value, or only read.
    actions = {
        "PR_SET_MM": (35, 15, ctypes.byref(size), 0, 0),  # the size of its own memory map
        "PR_SET_TSC": (26, 1, 0, 0, 0),
        "PR_TASK_PERF_EVENTS_ENABLE": (32, 0, 0, 0, 0),
        "PR_MCE_KILL": (33, 0, 0, 0, 0),
        "PR_SET_IO_FLUSHER": (57, 0, 0, 0, 0),
    }
    passed = [name for name, words in actions.items() if libc().prctl(*words) >= 0]
    return ", ".join(passed) or None


@attack()
def relax_filter() -> str | None:
    """Adds a filter that allows everything to the sandbox's filter; then tries refused calls."""
    no_new_privs, set_seccomp, filters = 38, 22, 1
    allow = ctypes.create_string_buffer(struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", 1, ctypes.addressof(allow)))
    refused = {-errno.EPERM, -errno.ENOSYS}

    def again() -> int:
        libc().prctl(set_seccomp, 0, 0, 0, 0)  # off
        libc().prctl(no_new_privs, 1, 0, 0, 0)
        call("seccomp", filters, 0, program)
        tried = (("umount2", "/nonexistent", -1), ("ptrace", -1, 0, 0, 0), ("unshare", 0))
        return sum(call(*words) not in refused for words in tried)

    passed = apart(again)
    return f"{passed} calls that should be refused" if passed else None
