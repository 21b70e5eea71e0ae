"""The system calls of a sandbox: an allow-list, with numbers for x86-64 and for 64-bit ARM.

Calls of `_ALLOWED` pass, and calls of `_CONDITIONAL` pass with some arguments. Calls of `_ABSENT`,
and calls that are newer than `NEWEST`, return ENOSYS.

Any other call is refused with EPERM. These are, for example: access to another process (ptrace,
process_vm_*, pidfd_getfd, kcmp), namespaces and mounts (unshare, setns, mount and its successors
except statmount and listmount, pivot_root, chroot, file handles), parts of the kernel that attacks
often use (bpf, perf, userfaultfd, keyrings, vmsplice, cachestat, NUMA's move_pages and similar
calls), calls that act on the machine (modules, kexec, reboot, clocks, swap, quota, accounting, host
names, I/O ports, syslog, sync and syncfs), more filters (seccomp), and obsolete calls (uselib,
ustat, sysfs).

Source: Linux 6.17's `asm/unistd_64.h` and `asm-generic/unistd.h`; from 424 on both number alike.

See ADR 27.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NEWEST = 469
"""The last number known here (`file_setattr`, Linux 6.17). Newer calls return ENOSYS."""

MACHINES = ("x86_64", "aarch64")

# Name and numbers by machine; a minus if the architecture never had the call.
_ALLOWED = {
    "Open files and their content": """
        read 0 63, write 1 64, open 2 -, openat 257 56, openat2 437 437, creat 85 -, close 3 57,
        close_range 436 436, lseek 8 62, pread64 17 67, pwrite64 18 68, readv 19 65,
        writev 20 66, preadv 295 69, pwritev 296 70, preadv2 327 286, pwritev2 328 287,
        dup 32 23, dup2 33 -, dup3 292 24, flock 73 32, fsync 74 82,
        fdatasync 75 83, sync_file_range 277 84, truncate 76 45, ftruncate 77 46,
        fallocate 285 47, fadvise64 221 223, readahead 187 213, sendfile 40 71,
        copy_file_range 326 285, splice 275 76, tee 276 77, pipe 22 -, pipe2 293 59
    """,
    "Names of files, and their attributes": """
        stat 4 -, fstat 5 80, lstat 6 -, newfstatat 262 79, statx 332 291, statfs 137 43,
        fstatfs 138 44, access 21 -, faccessat 269 48, faccessat2 439 439, getdents 78 -,
        getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50, rename 82 -,
        renameat 264 38, renameat2 316 276, mkdir 83 -, mkdirat 258 34, rmdir 84 -, link 86 -,
        linkat 265 37, unlink 87 -, unlinkat 263 35, symlink 88 -, symlinkat 266 36,
        readlink 89 -, readlinkat 267 78, chmod 90 -, fchmod 91 52, fchmodat 268 53,
        fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54, umask 95 166,
        utime 132 -, utimes 235 -, futimesat 261 -, utimensat 280 88, setxattr 188 5,
        lsetxattr 189 6, fsetxattr 190 7, setxattrat 463 463, getxattr 191 8, lgetxattr 192 9,
        fgetxattr 193 10, getxattrat 464 464, listxattr 194 11, llistxattr 195 12,
        flistxattr 196 13, listxattrat 465 465, removexattr 197 14, lremovexattr 198 15,
        fremovexattr 199 16, removexattrat 466 466
    """,
    "Memory": """
        brk 12 214, munmap 11 215, mremap 25 216, mprotect 10 226, msync 26 227,
        mincore 27 232, madvise 28 233, mlock 149 228, mlock2 325 284, munlock 150 229,
        mlockall 151 230, munlockall 152 231, mseal 462 462, membarrier 324 283,
        pkey_alloc 330 289, pkey_free 331 290, pkey_mprotect 329 288, map_shadow_stack 453 453
    """,
    "Waiting for events": """
        poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_create 213 -,
        epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22,
        epoll_pwait2 441 441, eventfd 284 -, eventfd2 290 19, signalfd 282 -, signalfd4 289 74,
        timerfd_create 283 85, timerfd_settime 286 86, timerfd_gettime 287 87, futex 202 98,
        futex_waitv 449 449, futex_wait 455 455, futex_wake 454 454, futex_requeue 456 456,
        set_robust_list 273 99, get_robust_list 274 100, restart_syscall 219 128, pause 34 -
    """,
    "Time": """
        time 201 -, gettimeofday 96 169, clock_gettime 228 113, clock_getres 229 114,
        clock_nanosleep 230 115, nanosleep 35 101, alarm 37 -, getitimer 36 102,
        setitimer 38 103, timer_create 222 107, timer_settime 223 110, timer_gettime 224 108,
        timer_getoverrun 225 109, timer_delete 226 111, times 100 153
    """,
    "Signals": """
        kill 62 129, tkill 200 130, tgkill 234 131, pidfd_send_signal 424 424,
        rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigpending 127 136,
        rt_sigsuspend 130 133, rt_sigtimedwait 128 137, rt_sigqueueinfo 129 138,
        rt_tgsigqueueinfo 297 240, rt_sigreturn 15 139, sigaltstack 131 132
    """,
    "Processes and threads": """
        fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, exit 60 93, exit_group 231 94,
        wait4 61 260, waitid 247 95, pidfd_open 434 434, set_tid_address 218 96, gettid 186 178,
        getpid 39 172, getppid 110 173, getpgrp 111 -, getpgid 121 155, setpgid 109 154,
        getsid 124 156, setsid 112 157, rseq 334 293, arch_prctl 158 -, uretprobe 335 -,
        uprobe 336 -, sched_yield 24 124, sched_getaffinity 204 123, sched_getattr 315 275,
        sched_getparam 143 121, sched_getscheduler 145 120, sched_get_priority_max 146 125,
        sched_get_priority_min 147 126, sched_rr_get_interval 148 127, getpriority 140 141,
        ioprio_get 252 31, getcpu 309 168, getrlimit 97 163, setrlimit 160 164, getrusage 98 165
    """,
    "Identity: without a capability, no process gains a right by these": """
        getuid 102 174, geteuid 107 175, getresuid 118 148, getgid 104 176, getegid 108 177,
        getresgid 120 150, getgroups 115 158, setuid 105 146, setreuid 113 145,
        setresuid 117 147, setfsuid 122 151, setgid 106 144, setregid 114 143,
        setresgid 119 149, setfsgid 123 152, setgroups 116 159, capget 125 90, capset 126 91
    """,
    "Giving up rights": """
        landlock_create_ruleset 444 444, landlock_add_rule 445 445,
        landlock_restrict_self 446 446
    """,
    "Existing sockets": """
        bind 49 200, listen 50 201, accept 43 202, accept4 288 242, connect 42 203,
        getsockname 51 204, getpeername 52 205, getsockopt 55 209, sendto 44 206,
        recvfrom 45 207, sendmsg 46 211, recvmsg 47 212, sendmmsg 307 269,
        recvmmsg 299 243, shutdown 48 210
    """,
    "Public facts about the machine": """
        uname 63 160, sysinfo 99 179, getrandom 318 278
    """,
}

# Allowed or refused by their arguments: `conditions.py`.
_CONDITIONAL = """
    clone 56 220, fcntl 72 25, ioctl 16 29, ioprio_set 251 30, mknod 133 -, mknodat 259 33,
    mmap 9 222, personality 135 92, prctl 157 167, prlimit64 302 261, sched_setaffinity 203 122,
    sched_setattr 314 274, sched_setparam 142 118, sched_setscheduler 144 119,
    setpriority 141 140, setsockopt 54 208, socket 41 198, socketpair 53 199
"""

# Answered with ENOSYS, as by a kernel without them, so that libraries use an alternative. clone3
# passes its flags by pointer, which a filter cannot read; glibc then uses clone. No filter sees the
# calls that a ring of io_uring makes. statmount and listmount show mounts, as `/proc/self/mounts`
# does. The memory of memfd and of System V's objects belongs to no process, so samples would not
# include it. The kernel counts inotify, aio and message queues for each user of the host, and all
# sandboxes are one user: one sandbox could use up the limit of all.
_ABSENT = """
    clone3 435 435, io_uring_setup 425 425, listmount 458 458, statmount 457 457,
    memfd_create 319 279, memfd_secret 447 447, msgget 68 186, semget 64 190, shmget 29 194,
    inotify_init 253 -, inotify_init1 294 26, io_setup 206 0, mq_open 240 180
"""


def allowed(machine: str) -> Mapping[str, int]:
    """Calls that are allowed with any arguments, on `machine` (a name as of `uname -m`)."""
    return _column(",".join(_ALLOWED.values()), machine)


def conditional(machine: str) -> Mapping[str, int]:
    """Calls that are allowed or refused by their arguments."""
    return _column(_CONDITIONAL, machine)


def absent(machine: str) -> Mapping[str, int]:
    """Calls that return ENOSYS, as all calls after `NEWEST` do."""
    return _column(_ABSENT, machine)


def _column(table: str, machine: str) -> Mapping[str, int]:
    column = 1 + MACHINES.index(machine)
    rows = (row.split() for row in table.split(","))
    return MappingProxyType({row[0]: int(row[column]) for row in rows if row[column] != "-"})
