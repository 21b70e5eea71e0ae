"""Numbers of the system calls that a room does not get, for x86-64 and for 64-bit ARM.

Source: Linux 6.1's `asm/unistd_64.h` and `asm-generic/unistd.h`; from 424 on both number alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NEWEST = 469
"""The last number known here (`file_setattr`, Linux 6.17). Whatever is newer does not exist."""

# name: (x86-64, 64-bit ARM); None where the architecture never had it
_FORBIDDEN: tuple[tuple[str, int | None, int | None], ...] = (
    # looking into, or writing into, another process
    ("ptrace", 101, 117),
    ("process_vm_readv", 310, 270),
    ("process_vm_writev", 311, 271),
    ("process_madvise", 440, 440),
    ("kcmp", 312, 272),
    ("pidfd_getfd", 438, 438),
    # other namespaces, other mounts, other roots
    ("unshare", 272, 97),
    ("setns", 308, 268),
    ("mount", 165, 40),
    ("umount2", 166, 39),
    ("pivot_root", 155, 41),
    ("chroot", 161, 51),
    ("open_tree", 428, 428),
    ("move_mount", 429, 429),
    ("fsopen", 430, 430),
    ("fsconfig", 431, 431),
    ("fsmount", 432, 432),
    ("fspick", 433, 433),
    ("mount_setattr", 442, 442),
    ("statmount", 457, 457),
    ("listmount", 458, 458),
    ("open_tree_attr", 467, 467),
    ("name_to_handle_at", 303, 264),
    ("open_by_handle_at", 304, 265),
    ("fanotify_init", 300, 262),
    ("quotactl", 179, 60),
    ("quotactl_fd", 443, 443),
    ("swapon", 167, 224),
    ("swapoff", 168, 225),
    # large or lately holed parts of the kernel
    ("bpf", 321, 280),
    ("perf_event_open", 298, 241),
    ("io_uring_setup", 425, 425),
    ("io_uring_enter", 426, 426),
    ("io_uring_register", 427, 427),
    ("userfaultfd", 323, 282),
    ("keyctl", 250, 219),
    ("add_key", 248, 217),
    ("request_key", 249, 218),
    ("vmsplice", 278, 75),
    ("move_pages", 279, 239),
    ("migrate_pages", 256, 238),
    ("mbind", 237, 235),
    ("set_mempolicy", 238, 237),
    ("get_mempolicy", 239, 236),
    ("set_mempolicy_home_node", 450, 450),
    # the machine itself
    ("kexec_load", 246, 104),
    ("kexec_file_load", 320, 294),
    ("init_module", 175, 105),
    ("finit_module", 313, 273),
    ("delete_module", 176, 106),
    ("create_module", 174, None),
    ("get_kernel_syms", 177, None),
    ("query_module", 178, None),
    ("reboot", 169, 142),
    ("syslog", 103, 116),
    ("acct", 163, 89),
    ("settimeofday", 164, 170),
    ("clock_settime", 227, 112),
    ("clock_adjtime", 305, 266),
    ("adjtimex", 159, 171),
    ("sethostname", 170, 161),
    ("setdomainname", 171, 162),
    ("vhangup", 153, 58),
    ("iopl", 172, None),
    ("ioperm", 173, None),
    ("modify_ldt", 154, None),
    # museum pieces
    ("personality", 135, 92),
    ("lookup_dcookie", 212, 18),
    ("nfsservctl", 180, 42),
    ("uselib", 134, None),
    ("ustat", 136, None),
    ("sysfs", 139, None),
    ("_sysctl", 156, None),
)

# Answered as by a kernel that lacks them, so that libraries take their other way. `clone3` passes
# its flags by pointer, which a filter cannot read; glibc then uses `clone`. The rest hold memory
# that belongs to no process, so that no sample of the tree would see it.
_ABSENT: tuple[tuple[str, int, int], ...] = (
    ("clone3", 435, 435),
    ("memfd_create", 319, 279),
    ("memfd_secret", 447, 447),
    ("shmget", 29, 194),
    ("msgget", 68, 186),
    ("semget", 64, 190),
)

# Let through or not by their arguments.
_JUDGED: tuple[tuple[str, int, int], ...] = (
    ("clone", 56, 220),
    ("socket", 41, 198),
    ("socketpair", 53, 199),
    ("ioctl", 16, 29),
)

MACHINES = ("x86_64", "aarch64")


def forbidden(machine: str) -> Mapping[str, int]:
    """Calls that are refused with EPERM on `machine` (as `uname -m` says it)."""
    return _column(_FORBIDDEN, machine)


def absent(machine: str) -> Mapping[str, int]:
    """Calls that answer ENOSYS on `machine`."""
    return _column(_ABSENT, machine)


def judged(machine: str) -> Mapping[str, int]:
    """Calls whose arguments decide."""
    return _column(_JUDGED, machine)


def _column(
    table: tuple[tuple[str, int | None, int | None], ...], machine: str
) -> Mapping[str, int]:
    column = 1 + MACHINES.index(machine)
    numbers = {str(row[0]): row[column] for row in table}
    return MappingProxyType({name: int(nr) for name, nr in numbers.items() if nr is not None})
