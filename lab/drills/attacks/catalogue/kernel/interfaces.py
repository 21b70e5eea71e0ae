"""The kernel's interfaces as files, mounts, memory, keys and terminals."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import itertools
import os
import pty
import stat
import struct
import termios
from functools import partial

from lab.drills.attacks.attack import BaselineControl, Inputs, attack
from lab.drills.attacks.probes.primitives import allowed, apart, attempt, call, libc, opens
from lab.drills.attacks.probes.syscall_table import needs_root, unless_reached

ROOT, OWN_MOUNTS = BaselineControl(root=True), BaselineControl(root=True, unshare=("--mount",))
OWN_GROUPS = BaselineControl(root=True, unshare=("--mount", "--cgroup"))
OWN_NETWORK = BaselineControl(root=True, unshare=("--net",))
"""Gives root of a user namespace some writable files in /proc: the settings of its network."""


@attack(control=OWN_GROUPS)
def control_groups() -> str | None:
    """Writes into control groups, or mounts them: release_agent runs a program as host root."""
    with open("/proc/self/mountinfo") as file:
        rows = [line.split() for line in file]
    folders = [row[4] for row in rows if row[row.index("-") + 1].startswith("cgroup")]
    for folder in (*folders, "/sys/fs/cgroup"):
        for name in ("release_agent", "cgroup.procs", "devices.allow", "tasks", "memory.max"):
            if opens(f"{folder}/{name}", os.O_WRONLY):
                return f"{folder}/{name} opens for writing"
    os.mkdir("groups")
    for kind, words in ((b"cgroup2", None), (b"cgroup", b"memory"), (b"cgroup", b"rdma")):
        if libc().mount(b"none", b"groups", kind, 0, words) == 0:
            libc().umount2(b"groups", 2)
            return f"mounted {kind.decode()}"
    return None


@attack(control=OWN_MOUNTS)
def mount() -> str | None:
    """Mounts a file system in its own directory: a tmpfs, a /proc, a bind of the root."""
    os.mkdir("mounted")
    bind = 4096
    for source, kind, flags in ((b"none", b"tmpfs", 0), (b"none", b"proc", 0), (b"/", None, bind)):
        if libc().mount(source, b"mounted", kind, flags, None) == 0:
            libc().umount2(b"mounted", 2)
            return f"mounted {(kind or source).decode()}"
    return None


@attack(control=ROOT)
def mknod() -> str | None:
    """Makes a device file in its own directory: mknod."""
    # The null device, a loop device, and the number of no device (a layer's deletion mark), which
    # every user may make: if a probe makes one, mknod was executed. No device is opened.
    for kind, major, minor in ((stat.S_IFCHR, 1, 3), (stat.S_IFBLK, 7, 0), (stat.S_IFCHR, 0, 0)):
        if allowed(os.mknod, "device", kind | 0o600, os.makedev(major, minor)):
            os.unlink("device")
            return f"a device {major}:{minor}"
    return None


@attack(control=OWN_NETWORK)
def proc_writes() -> str | None:
    """Opens for writing all files of `/proc` that it can: core_pattern, sysrq-trigger,
    `/proc/sys`."""
    # Files are opened and closed; no byte is written. Left out: processes; automounts; and files
    # that every user may open, because the kernel checks rights at the write.
    anyones = {"/proc/sys/kernel/ns_last_pid"}
    passed = []
    for folder, folders, names in os.walk("/proc"):
        left_out = {"self", "thread-self", "binfmt_misc", "pressure"}
        if folder == "/proc":
            left_out |= {name for name in folders if name.isdigit()}
        folders[:] = [name for name in folders if name not in left_out]
        for path in (f"{folder}/{name}" for name in names):
            status = attempt(os.lstat, path)
            if status is None or not stat.S_ISREG(status.st_mode) or path in anyones:
                continue
            if opens(path, os.O_WRONLY | os.O_NONBLOCK):
                passed.append(path)
    return f"{len(passed)} files, such as {', '.join(passed[:3])}" if passed else None


@needs_root
@attack(control=ROOT)
def sys_writes() -> str | None:
    """Opens for writing all files of `/sys` that it can: devices, kernel settings, firmware,
    modules."""
    # Files are opened and closed; no byte is written.
    walks = itertools.chain(
        *(os.walk(f"/sys/{folder}") for folder in ("kernel", "module", "class"))
    )
    paths = (f"{folder}/{name}" for folder, _, names in walks for name in names)
    first = ("/sys/power/state", "/sys/kernel/uevent_helper", "/sys/kernel/mm/ksm/run")
    all_paths = itertools.chain(first, itertools.islice(paths, 5_000))
    return next((path for path in all_paths if opens(path, os.O_WRONLY | os.O_NONBLOCK)), None)


@attack(control=ROOT)
def file_handles() -> str | None:
    """Opens files by number instead of by name, which bypasses every mount: open_by_handle_at."""
    for path in (".", "/", "/usr", "/etc/hosts", "/tmp"):
        descriptor = os.open(path, os.O_RDONLY)
        # The root of most file systems on a disk: inode 2, of any generation.
        root = ctypes.create_string_buffer(struct.pack("=IiII", 8, 1, 2, 0), 136)
        file_handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0), 136)
        mounted = ctypes.c_int()
        if call("name_to_handle_at", -100, path, file_handle, ctypes.byref(mounted), 0) >= 0:
            return f"a handle of {path}"
        for handle in (file_handle, root):
            if call("open_by_handle_at", descriptor, handle, os.O_RDONLY) >= 0:
                return f"a file by its handle, through {path}"
        os.close(descriptor)
    return None


@attack(control=ROOT)
def fanotify() -> str | None:
    """Watches what other processes open: fanotify_init."""
    by_handle, plain = 0x200, 0
    for flags in (plain, by_handle):
        if call("fanotify_init", flags, os.O_RDONLY) >= 0:
            return f"a group of watches, with flags {flags:#x}"
    return None


@attack()
def keyrings(inputs: Inputs) -> str | None:
    """Keeps keys in the kernel: add_key, request_key, keyctl."""
    name, process, session = inputs["mark"], -2, -3
    # The keyring belongs to a process that ends at once, so that no key stays, not even in a
    # control.
    answers = {
        "add_key": apart(call, "add_key", "user", name, "x", 1, process),
        "request_key": apart(call, "request_key", "user", name, 0, 0),
        "keyctl": apart(call, "keyctl", 0, session, 0),
    }
    refused = (None, -errno.EPERM, -errno.ENOSYS)
    passed = [name for name, answer in answers.items() if answer not in refused]
    return f"the kernel answered {', '.join(passed)}" if passed else None


def gets_secret_memory() -> str | None:
    """Allocates memory that the machine itself cannot read: memfd_secret."""
    return "such memory" if (apart(call, "memfd_secret", 0) or -1) > 0 else None


def handles_page_faults() -> str | None:
    """Handles page faults itself, which makes races in the kernel easier: userfaultfd."""
    own_faults_only = 1
    for flags in (own_faults_only, 0):
        if (apart(call, "userfaultfd", flags) or -1) > 0:
            return f"a descriptor for faults, with flags {flags}"
    return "/dev/userfaultfd" if opens("/dev/userfaultfd", os.O_RDWR) else None


secret_memory = attack(
    absent=partial(unless_reached, "this kernel has no memfd_secret", gets_secret_memory)
)(gets_secret_memory)
userfaultfd = attack(
    absent=partial(unless_reached, "this kernel has no userfaultfd", handles_page_faults)
)(handles_page_faults)


@attack(control=ROOT)
def terminal_input() -> str | None:
    """Types into its terminal as if its user did: TIOCSTI."""

    def types() -> int:
        """The probe makes its own terminal: the sandbox has no other, and does not need one."""
        _, terminal = pty.openpty()
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        fcntl.ioctl(terminal, termios.TIOCSTI, b"x")
        return 1

    answer = apart(types)
    # If the machine has disabled it, the terminal itself reports this: the call was executed.
    return f"it came through ({answer})" if answer in {1, -errno.EIO} else None
