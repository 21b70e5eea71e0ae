"""System calls that no program in a sandbox needs, and values of arguments that are not listed."""

from __future__ import annotations

import os
import socket
from functools import partial

from lab.drills.attacks.attack import Attack, BaselineControl, Inputs
from lab.drills.attacks.probes.primitives import apart, execute
from lab.drills.attacks.probes.syscall_table import (
    NOWHERE,
    needs_root,
    numbers_around,
    refused_calls,
    unless_reached,
    unnamed_values,
)
from sandbox.seccomp import allowed_arguments
from sandbox.seccomp.allowed_arguments import (
    FCNTL,
    IGNORED_SETSOCKOPT,
    IOCTL,
    PRCTL,
    sorted_values,
)

ROOT = BaselineControl(root=True)
NO_PATH = "/nonexistent/fettle"

another_kernel = refused_calls(
    "Restarts the machine, or loads another kernel into it: reboot, kexec_load, kexec_file_load.",
    # The owner of a process namespace may restart it; so the call succeeds for root of a user
    # namespace, too.
    BaselineControl(root=True, unshare=("--pid", "--fork")),
    {
        "reboot": (0, 0, 0, 0),  # neither magic number is valid
        "kexec_load": (0, 1 << 20, 0, 0xFFFF),  # too many segments, unknown flags
        "kexec_file_load": (-1, -1, 0, 0, 0xFFFF),  # unknown flags
    },
)
bpf = refused_calls(
    "Loads programs and maps into the kernel: bpf.",
    ROOT,
    {"bpf": (0, 0, 1 << 20)},  # BPF_MAP_CREATE, with a description larger than a page
)
change_root = refused_calls(
    "Leaves its root, or takes off what covers something: chroot, pivot_root, umount2.",
    BaselineControl(root=True, unshare=("--mount",)),
    {
        "chroot": (NO_PATH,),
        "pivot_root": (NO_PATH, NO_PATH),
        "umount2": (NO_PATH, -1),  # unknown flags
    },
)
clocks = refused_calls(
    "Sets the machine's clock: settimeofday, clock_settime, adjtimex, clock_adjtime.",
    BaselineControl(),
    {
        "settimeofday": ([-1, -1], 0),  # a time that does not exist
        "clock_settime": (1, 0),  # CLOCK_MONOTONIC, which no process can set
        "adjtimex": (0,),  # no buffer
        "clock_adjtime": (99, 0),  # there is no such clock
    },
)
io_uring = refused_calls(
    "Sets up a ring by which calls go around the filter: io_uring.",
    ROOT,
    {
        "io_uring_setup": (1, 0),  # no description of the ring
        "io_uring_enter": (-1, 0, 0, 0, 0),
        "io_uring_register": (-1, 0, 0, 0),
    },
)
machine_calls = refused_calls(
    "Acts on the machine as a whole: swap, accounting, quotas, host name, kernel log, its disks.",
    BaselineControl(root=True, unshare=("--uts",)),
    {
        "swapon": (NO_PATH, -1),  # unknown flags
        "swapoff": (NO_PATH,),
        "acct": (NO_PATH,),
        "quotactl": (0xFF, NO_PATH, 0, 0),  # there is no such kind of quota
        "quotactl_fd": (-1, 0, 0, 0),
        "sethostname": (0, -1),  # a negative length
        "setdomainname": (0, -1),
        "syslog": (99, 0, 0),  # there is no such function
        "syncfs": (-1,),
    },
)
modules = needs_root(
    refused_calls(
        "Loads and removes kernel modules.",
        ROOT,
        {
            "init_module": (0, 0, ""),  # an image without bytes
            "finit_module": (-1, "", 0),  # no file
            "delete_module": ("fettle-no-such-module", 0),
        },
    )
)
museum = refused_calls(
    "Calls that nobody has needed for decades: sysfs, ustat, uselib, _sysctl, nfsservctl.",
    ROOT,
    {
        "sysfs": (99, 0, 0),  # there is no such option
        "ustat": (-1, 0),  # there is no such device
        "uselib": (0,),
        "_sysctl": (0,),
        "lookup_dcookie": (0, 0, 0),
        "nfsservctl": (99, 0, 0),
    },
)
new_mount_api = refused_calls(
    "Mounts by the newer calls: open_tree, fsopen, fsmount, move_mount, mount_setattr and others.",
    BaselineControl(root=True, unshare=("--mount",)),
    {  # all with flags that do not exist, or without a descriptor
        "open_tree": (-1, "", 0x7FFFFFFF),
        "move_mount": (-1, "", -1, "", 0x7FFFFFFF),
        "fsopen": ("tmpfs", 0x7FFFFFFF),
        "fsconfig": (-1, 0, 0, 0, 0),
        "fsmount": (-1, 0x7FFFFFFF, 0),
        "fspick": (-1, "", 0x7FFFFFFF),
        "mount_setattr": (-1, "", 0x7FFFFFFF, 0, 0),
        "statmount": (0, 0, 0, 0x7FFFFFFF),
        "listmount": (0, 0, 0, 0x7FFFFFFF),
    },
)
other_memory = refused_calls(
    "Calls that look into, or move, the memory of other processes: kcmp, process_madvise, NUMA.",
    BaselineControl(),
    {
        "process_vm_readv": (-1, 0, 0, 0, 0, -1),  # unknown flags
        "process_vm_writev": (-1, 0, 0, 0, 0, -1),
        "process_madvise": (-1, 0, 0, 0, -1),
        "kcmp": (-1, -1, 0, 0, 0),  # there are no such processes
        "pidfd_getfd": (-1, -1, -1),
        "move_pages": (0, 0, 0, 0, 0, -1),
        "migrate_pages": (-1, 0, 0, 0),
    },
)
perf = refused_calls(
    "Opens the machine's performance counters: perf_event_open.",
    BaselineControl(),
    {"perf_event_open": (0, 0, -1, -1, -1)},  # no description, unknown flags
)
x86_hardware = refused_calls(
    "Reaches for ports and segments of an x86 processor: iopl, ioperm, modify_ldt.",
    BaselineControl(),
    {
        "iopl": (99,),  # there are only four levels
        "ioperm": (-1, 1, 0),  # after the last port
        "modify_ldt": (0, 0, 0),  # reads no bytes
    },
)


_FCNTL, _PRCTL, _IOCTL = (
    set(sorted_values(FCNTL)),
    set(sorted_values(PRCTL)),
    set(sorted_values(IOCTL)),
)
_PTRACER = 0x5961_6D61
# Disks, terminals' consoles, network devices, namespaces, KVM: linux/ioctl/ioctl-number.rst.
_DRIVERS = (0x0200, 0x1200, 0x4B00, 0x5300, 0x5400, 0x5600, 0x8900, 0x8B00, 0xAE00, 0xB700)
_REQUESTS = {base + number for base in _DRIVERS for number in range(256)}
_OPTIONS = {
    (level, option)
    for level, options in allowed_arguments.socket_options().items()
    for option in options
}
_OPTIONS |= {(socket.SOL_SOCKET, option) for option in sorted_values((IGNORED_SETSOCKOPT,))}

fcntl_values = unnamed_values(
    "Passes every other command to fcntl: leases, directory notes, locks of an open file, seals.",
    "fcntl",
    (
        (NOWHERE, command, 0)
        for command in (*range(128), *range(1000, 1152))
        if command not in _FCNTL
    ),
    visible_words=slice(1, 2),
    refused=("EINVAL", "EPERM"),
)
prctl_values = unnamed_values(
    "Passes every other option to prctl: filters, the memory map, tracing, core scheduling.",
    "prctl",
    (
        (option, NOWHERE, NOWHERE, NOWHERE, NOWHERE)
        for option in sorted({*range(128), _PTRACER, *numbers_around(_PRCTL, 8)} - _PRCTL)
    ),
    visible_words=slice(0, 1),
    # If a kernel lacks an option, its error is the filter's error: there is nothing to reach.
    refused=("EINVAL", "EPERM"),
    on_its_own=True,
)
ioctl_values = unnamed_values(
    "Passes to ioctl the requests around those that are named, and those of other drivers.",
    "ioctl",
    (
        (NOWHERE, request, 0)
        for request in sorted({*numbers_around(_IOCTL, 64), *_REQUESTS} - _IOCTL)
    ),
    visible_words=slice(1, 2),
    refused=("ENOTTY", "EPERM"),
)
setsockopt_values = unnamed_values(
    "Passes every other option of every level to setsockopt: filters, TCP's upper layers, marks.",
    "setsockopt",
    (
        (NOWHERE, level, option, 0, 0)
        for level in range(300)
        for option in range(96)
        if (level, option) not in _OPTIONS
    ),
    visible_words=slice(1, 3),
    refused=("ENOPROTOOPT", "EPERM"),
)


def asks_its_pid(inputs: Inputs) -> str | None:
    """Whether the kernel answers a child that requests its pid with `code`, of x86-64."""
    if os.uname().machine != "x86_64":
        return None
    answer = apart(execute, inputs["code"])
    return f"process {answer}, said the kernel" if answer is not None and answer > 0 else None


def other_calls(tries: str, lacking: str, code: str) -> Attack:
    """An attack that calls the kernel in another way, with this machine code."""
    return Attack(
        asks_its_pid,
        inputs={"code": code},
        absent=partial(unless_reached, lacking, asks_its_pid, code=code),
        tries=tries,
    )


calls_of_32_bits = other_calls(
    "Calls the kernel by its 32-bit interface, whose numbers mean other calls: int 0x80.",
    "this kernel has no 32-bit calls",
    "b814000000cd80c3",  # mov eax, 20; int 0x80; ret
)
calls_of_x32 = other_calls(
    "Calls the kernel by the numbers of x32, which a filter of numbers may not know.",
    "this kernel has no x32 calls",
    "b8270000400f05c3",  # mov eax, 0x40000000 + 39; syscall; ret
)
