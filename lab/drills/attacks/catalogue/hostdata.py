"""A run reads data of the host."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import hashlib
import os
import re
import signal
import socket
import stat
import sys
import sysconfig
import time
from pathlib import Path

from lab.drills.attacks.attack import BaselineControl, Inputs, attack
from lab.drills.attacks.catalogue.drives import PLANTED, loaded, planting
from lab.drills.attacks.context import Context
from lab.drills.attacks.outcome import Observation
from lab.drills.attacks.probes.primitives import (
    allowed,
    ancestors,
    attempt,
    bind_over,
    call,
    child,
    holds,
    in_own_memory,
    kill,
    libc,
    names_in,
    opens,
    read,
    visible,
    write,
)
from sandbox.policy import VISIBLE_PROC

ROOT = BaselineControl(root=True)


# Files


@attack()
def canary_files(inputs: Inputs) -> str | None:
    """Reads files of the host: in homes, in temporary folders, in the drill's own."""
    for path in inputs["files"]:
        for variant in (
            path,
            f"/proc/1/root{path}",
            f"/proc/self/root{path}",
            f"/proc/1/cwd{path}",
        ):
            if (data := read(variant)) is not None:
                return f"{len(data)} bytes of the canary {variant}"
    return None


TOPS = ["/tmp", "/dev", "/run", "/work", "/opt", "/agent", "/etc", "/var", "/home", "/mnt", "/"]


@attack()
def planted_files(inputs: Inputs) -> str | None:
    """Walks all folders that it can see, and looks for the host's canary files."""
    names = {os.path.basename(path) for path in inputs["files"]}
    until = time.monotonic() + 10
    for top in TOPS:
        for folder, folders, files in os.walk(top):
            if visible_names := names.intersection(files):
                return f"{folder}/{visible_names.pop()}"
            folders[:] = [name for name in folders if f"{folder}/{name}" not in ("//proc", "//sys")]
            if time.monotonic() > until:
                return None
    return None


KEY_FILES = [
    ".env",
    ".env.local",
    ".netrc",
    ".pgpass",
    ".git-credentials",
    ".pypirc",
    ".bash_history",
]
KEY_FOLDERS = [".ssh", ".aws", ".kube", ".docker", ".gnupg", ".config/gcloud", ".fettle", ".git"]


async def with_a_planted_key(context: Context) -> Observation:
    """A probe only tests names of real files; a control reads a planted file."""
    planted = []
    homes = [Path.home(), Path.cwd(), context.host.folder, Path("/root"), Path("/work")]
    for home in homes[1:3]:
        path = home / f".env.{context.mark}"
        with contextlib.suppress(OSError):
            path.write_text("KEY=none\n")
            path.chmod(0o644)
            planted.append(path)
    real = [str(home / name) for home in homes for name in (*KEY_FILES, *KEY_FOLDERS)]
    try:
        paths = [str(path) for path in planted] + ([] if context.is_control else real)
        return await context.run(inputs={"paths": paths})
    finally:
        for path in planted:
            path.unlink(missing_ok=True)


@attack(drive=with_a_planted_key)
def credential_files(inputs: Inputs) -> str | None:
    """Reads files in which people keep keys: dotenv files of the checkout, ssh, clouds, kube."""
    for path in inputs["paths"]:
        names = attempt(os.listdir, path)
        if names is not None:
            return f"a folder {path} with {len(names)} names"
        if (data := read(path)) is not None:
            return f"{len(data)} bytes of {path}"
    return None


SYSTEM = [
    "/mnt",
    "/srv",
    "/usr/lib",
    "/",
    "/usr",
    "/usr/bin",
    "/usr/local/bin",
    "/usr/local/lib",
    "/bin",
    "/lib",
    "/etc",
]
SYSTEM += [
    "/opt",
    "/opt/venv",
    "/agent",
    "/agent/sandbox",
    "/var",
    "/var/lib",
    "/home",
    "/root",
    "/sys",
    "/proc/self",
    "/dev",
]


@attack(drive=planting, control=PLANTED)
def system_trees(inputs: Inputs) -> str | None:
    """Writes to the folders of programs and libraries: system, interpreter, packages."""
    if inputs["plant"]:
        bind_over(inputs, os.getcwd(), next(folder for folder in SYSTEM if os.path.isdir(folder)))
    own_folders = [
        path for path in (*sys.path, *sysconfig.get_paths().values()) if path.startswith("/")
    ]
    for folder in (*SYSTEM, *own_folders):
        if os.path.realpath(folder) in ("/work", "/tmp", "/run") or not os.path.isdir(folder):
            continue
        path = f"{folder}/{inputs['mark']}"
        for make, drop in ((os.mknod, os.unlink), (os.mkdir, os.rmdir)):
            if allowed(make, path):
                drop(path)
                return f"a new name in {folder}"
    for module in (os.__file__, sys.executable, sysconfig.__file__, "/etc/passwd", "/etc/hosts"):
        if opens(os.path.realpath(module), os.O_WRONLY):
            return f"{module} open for writing"
    return None


OWN_KINDS = [
    "tmpfs",
    "proc",
    "devpts",
    "mqueue",
    "devtmpfs",
    "sysfs",
    "cgroup",
    "cgroup2",
    "overlay",
]
"""Kinds of mounts without data of a disk. Writable kinds are a sandbox's tmpfs, devpts, mqueue."""


@attack()
def mounts(inputs: Inputs) -> str | None:
    """Reads its mounts: which trees of the host are writable, and which are additional.

    The line of a mount shows the path of its tree on the host, and a kernel has no way to hide this
    path. Therefore the paths of trees that are mounted read-only are allowed, and all other paths
    are not.
    """
    with open("/proc/self/mountinfo") as file:
        lines = [line.split() for line in file]
    for words in lines:
        root, at, options = words[3], words[4], words[5].split(",")
        kind, source = words[words.index("-") + 1 :][:2]
        status = attempt(os.stat, at)
        if status is None or stat.S_ISCHR(status.st_mode):
            continue  # another mount covers it; or it is one device node: see `devices`
        if "ro" not in options and kind not in ("tmpfs", "proc", "devpts", "mqueue"):
            return f"writable: {kind} {source} {root} at {at}"
        if kind not in OWN_KINDS and not source.startswith("/") and "ro" not in options:
            return f"another file system: {kind} at {at}"
        if "nosuid" not in options and kind == "tmpfs" and "ro" not in options:
            return f"set-user-id programs work at {at}"
        if not (os.statvfs(at).f_flag & 1) and root.startswith(("/home", "/root", "/var")):
            return f"of the host, writable: {root} at {at}"
    for folder in map(os.path.dirname, inputs["files"]):
        mounted = any(folder in (words[3], words[4]) for words in lines)
        if mounted and folder not in ("/tmp", "/dev/shm"):
            return f"a folder with a canary is mounted: {folder}"
    return None


HARMLESS = ((1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2))
"""null, zero, full, random, urandom, the own terminal, and the ptmx of an own devpts."""


@attack()
def devices() -> str | None:
    """Looks for device nodes: disks, terminals, memory, virtual machines, network tunnels."""
    for top in ("/dev", "/work", "/run", "/tmp", "/"):
        for folder, folders, files in os.walk(top):
            if top == "/":
                folders.clear()
            for path in (os.path.join(folder, name) for name in files + folders):
                status = attempt(os.lstat, path)
                if status is None:
                    continue
                device = (os.major(status.st_rdev), os.minor(status.st_rdev))
                if stat.S_ISBLK(status.st_mode):
                    return f"a disk: {path}"
                if stat.S_ISCHR(status.st_mode) and device not in HARMLESS:
                    return f"a device {device}: {path}"
    return None


SOCKET_TOPS = [
    "/run",
    "/var/run",
    "/tmp",
    "/var/tmp",
    "/work",
    "/agent",
    "/home",
    "/root",
    "/dev",
    "/srv",
]


@attack()
def service_sockets() -> str | None:
    """Looks for sockets of the host's services: container engine, message bus, keys, display."""
    # Sockets are found by name, without a message: a message could affect a stranger's service.
    until = time.monotonic() + 8
    for top in SOCKET_TOPS:
        for folder, _, files in os.walk(top):
            for path in (os.path.join(folder, name) for name in files):
                status = attempt(os.lstat, path)
                if status and stat.S_ISSOCK(status.st_mode):
                    return f"a socket: {path}"
            if time.monotonic() > until:
                break
    rows = [line.split() for line in (read("/proc/net/unix") or b"").decode().splitlines()]
    socket_paths = [row[7] for row in rows if len(row) > 7][1:]
    return f"sockets of this network namespace: {socket_paths[:3]}" if socket_paths else None


# Processes


async def with_a_secret_command_line(context: Context) -> Observation:
    words = ("-c", "import time; time.sleep(60)", context.host.secret)
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", *words)
    try:
        return await context.run()
    finally:
        process.kill()
        await process.wait()


@attack(drive=with_a_secret_command_line)
def command_lines(inputs: Inputs) -> str | None:
    """Reads the command lines of all processes it can see: one on the host contains a secret."""
    for pid in visible():
        for name in ("cmdline", "comm", "stat"):
            if holds(inputs, read(f"/proc/{pid}/{name}") or b""):
                return f"the secret in /proc/{pid}/{name}"
    return None


@attack(drive=planting, control=ROOT)
def environments(inputs: Inputs) -> str | None:
    """Reads the environments of all processes it can see, including the sandbox's agent."""
    planted = [child(time.sleep, 5)] if inputs["plant"] else []
    try:
        for pid in (inputs["pid"], *visible()):
            for name in (f"/proc/{pid}/environ", f"/proc/{pid}/task/{pid}/environ"):
                if pid != os.getpid() and holds(inputs, read(name) or b""):
                    return f"the canary in {name}"
    finally:
        kill(*planted)
    return None


@attack()
def process_list(inputs: Inputs) -> str | None:
    """Lists processes: only itself and its ancestors belong to the run."""
    strangers = sorted(set(visible()) - ancestors())
    if strangers:
        return f"{len(strangers)} processes of others, such as {strangers[:5]}"
    # A `/proc` that hides other processes may still answer for a number.
    for pid in (inputs["pid"], os.getpid() + 1, *range(2, 4096)):
        if pid not in ancestors() and os.path.exists(f"/proc/{pid}/status"):
            return f"an unlisted process: {pid}"
    return None


@attack(control=ROOT)
def descriptors_of_processes(inputs: Inputs) -> str | None:
    """Opens the descriptors of every other process it can see: sockets and files of the agent."""
    pids = [pid for pid in (inputs["pid"], *visible()) if pid != os.getpid()]
    for pid in pids:
        for number in (*range(64), inputs["descriptor"]):
            link = f"/proc/{pid}/fd/{number}"
            if allowed(os.readlink, link) or allowed(os.stat, link):
                return f"{link} leads to {attempt(os.readlink, link)}"
    for pid in pids:
        for folder in (f"/proc/{pid}/fd", f"/proc/{pid}/task/{pid}/fd", f"/proc/{pid}/fdinfo"):
            if names := names_in(folder):
                return f"{len(names)} descriptors listed in {folder}"
    return None


@attack(control=ROOT)
def process_roots(inputs: Inputs) -> str | None:
    """Reaches the host's files through other processes: root, directory, descriptors, maps."""
    for pid in (inputs["pid"], *visible()):
        links = [f"/proc/{pid}/root", f"/proc/{pid}/cwd"]
        for folder in (f"/proc/{pid}/{entry}" for entry in ("fd", "map_files", f"task/{pid}/fd")):
            links += [f"{folder}/{name}" for name in names_in(folder)]
        for link in links:
            for path in inputs["files"]:
                for variant in (link + path, link + "/.." * 12 + path):
                    if (data := read(variant)) is not None:
                        return f"{len(data)} bytes of {variant}"
    return None


PARTS = ["mem", "maps", "smaps", "pagemap", "auxv", "stack", "syscall", "personality"]


@attack(drive=planting)
def process_memory(inputs: Inputs) -> str | None:
    """Reads and writes the memory of the sandbox's agent, and of all other visible processes."""
    victims = [child(time.sleep, 10)] if inputs["plant"] else []
    # A fork of one zygote has the same addresses as all its siblings.
    address = ctypes.cast(ctypes.pythonapi.Py_GetVersion, ctypes.c_void_p).value or 0
    word = ctypes.create_string_buffer(8)
    local_vector, remote_vector = [ctypes.addressof(word), 8], [address, 8]
    try:
        for pid in (*victims, *(other_pid for other_pid in visible() if other_pid != os.getpid())):
            for name in PARTS:
                for flags in (os.O_RDWR, os.O_RDONLY):
                    file = attempt(os.open, f"/proc/{pid}/{name}", flags)
                    data = attempt(os.read, file, 8) if file is not None else None
                    if data or (file is not None and name == "mem"):
                        return f"/proc/{pid}/{name} open"
            answer = call("process_vm_readv", pid, local_vector, 1, remote_vector, 1, 0)
            # EFAULT: the access is allowed, but the address has no data.
            if answer > 0 or answer == -errno.EFAULT:
                return f"process_vm_readv of {pid} was let through"
    finally:
        kill(*victims)
    return None


async def saying_when_it_started(context: Context) -> Observation:
    own_stat = (read("/proc/self/stat") or b"").decode()
    return await context.run(inputs={"started": own_stat.rpartition(")")[2].split()[19]})


@attack(drive=saying_when_it_started)
def worker_signals(inputs: Inputs) -> str | None:
    """Signals the worker by its process number, and tests whether it exists."""
    pid = inputs["pid"]
    worker_stat = (read(f"/proc/{pid}/stat") or b"").decode()
    if worker_stat and worker_stat.rpartition(")")[2].split()[19] != inputs["started"]:
        return None  # by chance, the same number in its own sandbox
    for number in (0, signal.SIGCONT):  # the signal 0 has no effect
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
        except PermissionError:
            return f"process {pid} is there, though not the run's own"
        return f"signal {int(number)} sent to {pid}"
    for ask in (os.getpgid, os.getsid, os.sched_getaffinity):
        if (answer := attempt(ask, pid)) is not None:
            return f"{ask.__name__} of the worker: {answer}"
    return None


# Its own process


@attack()
def own_descriptors(inputs: Inputs) -> str | None:
    """Lists its inherited descriptors: only its three streams are expected."""
    if (data := attempt(os.pread, inputs["descriptor"], 4096, 0)) is not None:
        return f"{len(data)} bytes of an inherited canary"
    null = os.stat("/dev/null").st_rdev
    for number in range(4096):
        status = attempt(os.fstat, number)
        if status is None:
            continue
        is_stream = stat.S_ISFIFO(status.st_mode) or status.st_rdev == null
        if number > 2 or not is_stream:
            target = os.readlink(f"/proc/self/fd/{number}")
            return f"descriptor {number} of mode {status.st_mode:o}: {target}"
    # A stream is a separate pipe: not a pipe with an end that the probe can open again.
    for number in (0, 1, 2):
        again = attempt(os.open, f"/proc/self/fd/{number}", os.O_RDWR | os.O_NONBLOCK)
        if again is None:
            continue
        status = os.fstat(again)
        if not stat.S_ISFIFO(status.st_mode) and status.st_rdev != null:
            return f"stream {number} opened again: mode {status.st_mode:o}"
    return None


SECRET_WORDS = (
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "CREDENTIAL",
    "FETTLE",
    "REDIS",
    "AWS",
    "CANARY",
)
HOST_PREFIXES = (
    "SSH_",
    "DBUS_",
    "DOCKER_",
    "XDG_RUNTIME",
    "GPG_",
    "KUBE",
    "VIRTUAL_ENV",
    "USER",
    "LOGNAME",
)


@attack()
def own_environment(inputs: Inputs) -> str | None:
    """Looks for the worker's keys in its own environment, the present one and the initial one."""
    start = read("/proc/self/environ") or b""
    now = b"\0".join(name + b"=" + value for name, value in os.environb.items())
    if holds(inputs, start) or holds(inputs, now):
        return f"the canary in its environment, or {inputs['variable']} itself"
    for pair in (start + b"\0" + now).decode(errors="replace").split("\0"):
        name = pair.partition("=")[0].upper()
        if any(word in name for word in SECRET_WORDS) or name.startswith(HOST_PREFIXES):
            return f"a variable of the worker's: {name}"
    return None


async def once_loaded(context: Context) -> Observation:
    await loaded(context)
    return await context.run()


@attack(drive=once_loaded)
def own_memory(inputs: Inputs) -> str | None:
    """Searches its own memory for data of the process from which it was forked."""
    return in_own_memory(inputs)


# The machine

IDENTITIES = (
    "/etc/machine-id",
    "/var/lib/dbus/machine-id",
    "/etc/hostname",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/random/boot_id",
)
SERIALS = [
    "product_uuid",
    "product_serial",
    "board_serial",
    "chassis_serial",
    "product_name",
    "sys_vendor",
]
INTERFACES = ("eth0", "ens3", "lan0", "docker0")


async def knowing_the_host(context: Context) -> Observation:
    paths = [*IDENTITIES, *(f"/sys/class/dmi/id/{name}" for name in SERIALS)]
    paths += ["/proc/device-tree/serial-number", "/sys/hypervisor/uuid"]
    paths += [f"/sys/class/net/{name}/address" for name in INTERFACES]
    identities = ((read(path) or b"").decode().strip() for path in IDENTITIES)
    host = {"host": os.uname().nodename, "paths": paths, "identities": [*filter(None, identities)]}
    return await context.run(inputs=host)


@attack(drive=knowing_the_host)
def host_identity(inputs: Inputs) -> str | None:
    """Identifies its machine: host name, machine id, serial numbers, network addresses."""
    if inputs["host"] in (os.uname().nodename, socket.gethostname()):
        return f"the host's name, {inputs['host']}"
    for path in inputs["paths"]:
        text = (read(path, 256) or b"").decode(errors="replace").strip()
        if text in inputs["identities"]:
            return f"the host's own {path}"
        if path.startswith(("/sys/", "/proc/device-tree")) and text.strip("0:-"):
            return f"{path} says {text!r}"
    return None


USER_FILES = [
    "/etc/passwd",
    "/etc/group",
    "/etc/subuid",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/fstab",
]
HASHES = ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh/ssh_host_ed25519_key"]


async def knowing_the_users(context: Context) -> Observation:
    texts = {path: read(path) for path in USER_FILES}
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in texts.items() if data}
    folders = ("/home", "/root", "/var/spool/cron", "/var/mail")
    inside = {folder: names_in(folder) for folder in folders}
    return await context.run(inputs={"digests": digests, "inside": inside})


@attack(drive=knowing_the_users)
def host_users(inputs: Inputs) -> str | None:
    """Identifies the host's users: accounts, password hashes, homes, members of root's groups."""
    for path in HASHES:
        if data := read(path):
            return f"{len(data)} bytes of {path}"
    for path, digest in inputs["digests"].items():
        if hashlib.sha256(read(path) or b"").hexdigest() == digest:
            return f"the host's own {path}"
    for folder in ("/home", "/root", "/var/spool/cron", "/var/mail", "/var/log"):
        inside = set(names_in(folder)) & set(inputs["inside"].get(folder, []))
        # The path of the interpreter is its path on the host, which may be below a home directory.
        inside -= {sys.base_prefix.removeprefix(f"{folder}/").partition("/")[0]}
        if inside:
            return f"in {folder} as on the host: {sorted(inside)[:3]}"
    return None


@attack(drive=planting, control=PLANTED)
def kernel_log(inputs: Inputs) -> str | None:
    """Reads the kernel's log, which contains programs, addresses and disks of others."""
    if inputs["plant"]:
        write("log", "6,1,1,-;a line of the log\n")
        bind_over(inputs, os.path.abspath("log"), "/dev/kmsg")
    for name in ("/dev/kmsg", "/var/log/kern.log", "/var/log/dmesg", "/var/log/syslog"):
        log = attempt(os.open, name, os.O_RDONLY | os.O_NONBLOCK)
        line = attempt(os.read, log, 8192) if log is not None else None
        if line:
            return f"{len(line)} bytes of {name}"
    if opens("/proc/kmsg", os.O_RDONLY | os.O_NONBLOCK):  # a read would consume the message
        return "/proc/kmsg open"
    text = ctypes.create_string_buffer(4096)
    size = libc().klogctl(3, text, len(text))
    return f"{size} bytes by syslog(2)" if size > 0 else None


MEMORIES = [
    "/proc/kcore",
    "/dev/mem",
    "/dev/kmem",
    "/dev/port",
    "/proc/kpagecount",
    "/proc/kpageflags",
]


@attack(drive=planting, control=PLANTED)
def kernel_memory(inputs: Inputs) -> str | None:
    """Reads the memory of the kernel and of the machine: kcore, /dev/mem and similar files."""
    names = list(MEMORIES)
    if inputs["plant"]:
        write("core", bytes(64))
        present = [name for name in MEMORIES if os.path.exists(name)]
        bind_over(inputs, os.path.abspath("core"), (present or ["/proc/version"])[0])
        names.append("/proc/version")
    for name in names:
        memory = attempt(os.open, name, os.O_RDONLY)
        data = attempt(os.read, memory, 8) if memory is not None else None
        if data:  # a file that is masked by /dev/null opens, and is empty
            return f"{len(data)} bytes of {name}"
    return None


TELLING = (
    "/proc/cmdline",
    "/proc/keys",
    "/proc/timer_list",
    "/proc/sched_debug",
    "/proc/latency_stats",
    "/proc/interrupts",
    "/proc/slabinfo",
    "/proc/vmallocinfo",
    "/proc/acpi/wakeup",
    "/proc/scsi/scsi",
    "/sys/firmware/acpi/tables/DSDT",
    "/sys/kernel/debug/kprobes/list",
    "/sys/kernel/notes",
    "/sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj",
    "/proc/pagetypeinfo",
)
ADDRESSES = ("/proc/kallsyms", "/proc/modules", "/proc/iomem")
ACTING = ("/proc/sysrq-trigger", "/proc/latency_stats", "/proc/mtrr", "/proc/timer_stats")


@attack()
def machine_files() -> str | None:
    """Reads the data in `/proc` about the machine: its command line, keys, timers, symbols."""
    for path in TELLING:
        if data := read(path, 4096):
            return f"{path}: {data[:60]!r}"
    for path in ADDRESSES:
        if re.search(rb"\b(0x)?[0-9a-f]*[1-9a-f][0-9a-f]{7,}\b", read(path, 1 << 16) or b""):
            return f"addresses of the kernel in {path}"
    null = os.stat("/dev/null").st_rdev
    for path in ACTING:
        opened = attempt(os.open, path, os.O_WRONLY)  # no byte is written
        if opened is not None and os.fstat(opened).st_rdev != null:
            return f"{path} open for writing"
    return None


def beginning(path: str) -> bytes:
    """The beginning of a file; empty if it cannot be read."""
    descriptor = attempt(os.open, path, os.O_RDONLY | os.O_NONBLOCK)
    if descriptor is None:
        return b""
    data = attempt(os.read, descriptor, 4096)
    os.close(descriptor)
    return data or b""


@attack(inputs={"shown": sorted(VISIBLE_PROC)})
def proc_files(inputs: Inputs) -> str | None:
    """Reads each file of `/proc` that belongs to no process: counters and parts of the machine."""
    readable = []
    for name in os.listdir("/proc"):
        if name.isdigit() or name in inputs["shown"]:
            continue
        for folder, _, files in os.walk(f"/proc/{name}"):
            paths = (os.path.join(folder, file) for file in files)
            readable += [path for path in paths if beginning(path)]
        if beginning(f"/proc/{name}"):
            readable.append(f"/proc/{name}")
    before = beginning("/proc/stat")
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    if beginning("/proc/stat") != before:
        readable.append("/proc/stat, which moves")
    groups = beginning("/proc/self/cgroup").decode().splitlines()
    readable += [f"a control group {group}" for group in groups if not group.endswith(":/")]
    return f"{len(readable)}: {', '.join(readable[:6])}" if readable else None
