"""A run leaves something that a later run finds."""

from __future__ import annotations

import builtins
import ctypes
import hashlib
import importlib
import json
import os
import random
import resource
import secrets
import signal
import site
import sys
import sysconfig
import time
import types

from lab.drills.attacks.attack import Inputs, RaisedLimits, attack
from lab.drills.attacks.catalogue.drives import after, facts, loaded, planting
from lab.drills.attacks.context import Context
from lab.drills.attacks.judges import judged
from lab.drills.attacks.outcome import AttackVerdict, Observation
from lab.drills.attacks.probes.primitives import (
    allowed,
    attempt,
    call,
    child,
    in_own_memory,
    libc,
    names_in,
    read,
    write,
)
from sandbox.protocol import MIB, Limits

# Files


PLACES = (
    *("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "/var/lock", "/work", "/dev/mqueue"),
    *("/dev", "/", "/opt", "/agent", "/tmp/.config", "/tmp/.config/matplotlib", "/run/user"),
    *("/home", "/root"),
)


def leave_files(inputs: Inputs) -> None:
    for folder in PLACES:
        for name in (inputs["mark"], f".{inputs['mark']}"):
            if allowed(write, f"{folder}/{name}", inputs["mark"]):
                allowed(os.mkdir, f"{folder}/{name}.d")


@attack(drive=after(leave_files))
def files_left(inputs: Inputs) -> str | None:
    """Leaves files in all folders that a run may write to; a later run looks for them."""
    left_files = []
    for folder in PLACES:
        for path in (f"{folder}/{name}" for name in names_in(folder) if inputs["mark"] in name):
            left_files.append(path)
            allowed(os.rmdir if os.path.isdir(path) else os.unlink, path)
    return (
        f"{len(left_files)} left by an earlier run, such as {left_files[0]}" if left_files else None
    )


@attack(drive=planting)
def core_dumps(inputs: Inputs) -> str | None:
    """Dies by a signal that dumps core: into a file, or into a program of the host."""
    if inputs["plant"]:
        write(f"core.{os.getpid()}", "core")
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

    def die(number: signal.Signals) -> None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGQUIT):
        if os.WCOREDUMP(os.waitpid(child(die, number), 0)[1]):
            return f"the kernel dumped core for signal {int(number)}"
    for folder in (".", "/tmp", "/var/crash", "/var/lib/systemd/coredump", "/cores", "/"):
        dumps = [name for name in names_in(folder) if name.split(".")[0] == "core"]
        if dumps and os.path.isfile(f"{folder}/{dumps[0]}"):
            return f"a core file: {folder}/{dumps[0]}"
    # If the core pattern is a pipe, the kernel starts a program of the host's root, whatever the
    # limit is. The exception is a limit of one byte, which the kernel reserves for a dumping
    # program that itself dumps.
    return f"a core limit of {hard} bytes" if hard not in (0, 1) else None


# Libraries and settings


def code_folders(inputs: Inputs) -> list[str]:
    """The folders from which an interpreter loads code; in a control, only its own folder."""
    if inputs["plant"]:
        return [os.getcwd()]
    folders = [folder for folder in sys.path if folder] + list(sysconfig.get_paths().values())
    folders += [*site.getsitepackages(), site.getusersitepackages(), os.path.dirname(os.__file__)]
    folders += [f"{sys.prefix}/lib/python3/dist-packages", "/tmp/.local/lib", "/usr/lib/python3"]
    return list(dict.fromkeys(folder for folder in folders if folder != "/work"))


def write_new(path: str, text: str, mode: str = "x") -> None:
    """Write a new file, or append to a file with mode "a", if this is allowed."""
    try:
        with open(path, mode) as file:
            file.write(text)
    except OSError:
        pass


def write_into_the_library(inputs: Inputs) -> None:
    mark = inputs["mark"]
    for folder in code_folders(inputs):
        allowed(os.makedirs, f"{folder}/__pycache__", 0o777, True)
        for name in (f"{mark}.pth", "sitecustomize.py", "usercustomize.py"):
            write_new(f"{folder}/{name}", f"import sys; sys.fettle_was_here = {mark!r}\n")
        write_new(f"{folder}/__pycache__/{mark}.cpython-311.pyc", mark)
    if not inputs["plant"]:
        for module in (os.__file__, os.__file__.replace("os.py", "this.py")):
            write_new(module, f"# {mark}\n", "a")


@attack(drive=after(write_into_the_library, together=True))
def library_on_disk(inputs: Inputs) -> str | None:
    """Writes into the library: .pth files, sitecustomize, byte code, the modules themselves."""
    if inputs["plant"]:
        write_into_the_library(inputs)
    if getattr(sys, "fettle_was_here", None):
        return "the interpreter ran an earlier run's code at its start"
    for library_folder in code_folders(inputs):
        for folder in (library_folder, f"{library_folder}/__pycache__"):
            if names := [name for name in names_in(folder) if inputs["mark"] in name]:
                return f"an earlier run's {names[0]} in {folder}"
        for name in ("sitecustomize.py", "usercustomize.py", "os.py", "this.py"):
            if inputs["mark"].encode() in (read(f"{library_folder}/{name}") or b""):
                return f"an earlier run's code in {library_folder}/{name}"
    return None


def patch_the_library(inputs: Inputs) -> None:
    for module in (builtins, os, random):
        module.fettle_was_here = inputs["mark"]  # type: ignore[attr-defined]
    json.dumps.__defaults__ = ()
    sys.modules["fettle_was_here"] = types.ModuleType("fettle_was_here")
    sys.path.append(f"/{inputs['mark']}")
    sys.intern(inputs["mark"])
    for name in ("numpy", "matplotlib", "pandas"):
        if name in sys.modules:
            sys.modules[name].fettle_was_here = inputs["mark"]  # type: ignore[attr-defined]


@attack(drive=after(patch_the_library, together=True))
def library_in_memory(inputs: Inputs) -> str | None:
    """Patches the libraries in its memory; a later run checks whether the patch is still there."""
    if inputs["plant"]:
        patch_the_library(inputs)
    for name, module in [("builtins", builtins), *sys.modules.items()]:
        if getattr(module, "fettle_was_here", None) or name == "fettle_was_here":
            return f"an earlier run's patch of {name}"
    if any(inputs["mark"] in entry for entry in sys.path):
        return "an earlier run's search path"
    return None


def settings_homes() -> list[str]:
    """The folders in which matplotlib looks for its settings and keeps its caches."""
    config = os.environ.get("MPLCONFIGDIR", "/tmp/.config/matplotlib")
    usual = ("/tmp/.config/matplotlib", "/tmp/.cache/matplotlib", "/etc/matplotlib")
    return [os.getcwd(), config, *usual]


def change_settings(inputs: Inputs) -> None:
    for home in settings_homes() if not inputs["plant"] else [os.getcwd()]:
        allowed(os.makedirs, home, 0o777, True)
        for name in ("matplotlibrc", "fontlist-v390.json", f"{inputs['mark']}.mplstyle"):
            allowed(write, f"{home}/{name}", f"savefig.dpi: 77  # {inputs['mark']}\n")
    if "matplotlib" in sys.modules:
        sys.modules["matplotlib"].rcParams["savefig.dpi"] = 77
        sys.modules["matplotlib"].rcParamsDefault["savefig.dpi"] = 77


@attack(drive=after(change_settings, together=True))
def matplotlib_settings(inputs: Inputs) -> str | None:
    """Changes matplotlib's settings, on disk and in memory; a later run checks its own settings."""
    if inputs["plant"]:
        change_settings(inputs)
    for home in settings_homes():
        for path in (f"{home}/{name}" for name in names_in(home)):
            if inputs["mark"].encode() in (read(path, 1 << 20) or b""):
                return f"an earlier run's {path}"
    try:
        library = importlib.import_module("matplotlib")
    except ImportError:
        return None
    for settings in (library.rcParams, library.rcParamsDefault):
        if settings["savefig.dpi"] == 77:
            return "an earlier run's settings in memory"
    return None


# The process


def change_environment(inputs: Inputs) -> None:
    os.environ["FETTLE_LEFT"] = inputs["mark"]
    os.environ["PATH"] = f"/{inputs['mark']}:{os.environ['PATH']}"
    libc().setenv(b"FETTLE_LEFT_TOO", inputs["mark"].encode(), 1)


@attack(drive=after(change_environment, together=True))
def environment(inputs: Inputs) -> str | None:
    """Changes its environment; a later run checks its own environment."""
    if inputs["plant"]:
        change_environment(inputs)
    for name, value in os.environ.items():
        if inputs["mark"] in value:
            return f"an earlier run's {name}"
    ask = libc().getenv
    ask.restype = ctypes.c_char_p
    return "an earlier run's variable in libc" if ask(b"FETTLE_LEFT_TOO") else None


def write_state() -> None:
    """Write the state that children inherit into `facts.json`."""
    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    os.umask(mask := os.umask(0))
    handlers = {number: str(signal.getsignal(number)) for number in range(1, 32)}
    state = {
        **{name: list(resource.getrlimit(getattr(resource, name))) for name in names},
        "umask": mask,
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "processors": sorted(os.sched_getaffinity(0)),
        "signals": {
            number: handler for number, handler in handlers.items() if " at 0x" not in handler
        },
        "blocked": sorted(int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "folder": os.path.basename(os.getcwd()),
    }
    write("facts.json", json.dumps(state))


def change_state(inputs: Inputs) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (37, 37))
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
    os.umask(0o077)
    os.nice(7)
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    if not inputs["plant"]:
        os.chdir("/")


async def compared_with_before(context: Context) -> AttackVerdict:
    await loaded(context)
    before = facts(await context.run(inputs={"plant": False}))
    if not context.is_control:
        await context.run(change_state, inputs={"plant": False})
    runs = [await context.run(inputs={"plant": context.is_control}) for _ in range(3)]
    states = {
        name for run_facts in map(facts, runs) for name in before if run_facts[name] != before[name]
    }
    return judged(runs[-1], [f"not as it was before: {name}" for name in sorted(states)])


@attack(drive=compared_with_before)
def process_state(inputs: Inputs) -> None:
    """Changes inherited state: limits, priority, masks; a later run checks its own state."""
    if inputs["plant"]:
        change_state(inputs)
    write_state()


SECRET_START = ("neigh", "bour-")


def hold_a_secret(inputs: Inputs) -> str | None:
    with open("secret.txt") as file:
        copies = [file.read() + str(number) for number in range(10_000)]
    print(copies[0])
    return None if copies[0].startswith(inputs["token"]) else "the file is another"


async def after_a_secret(context: Context) -> Observation:
    """Later runs search: forks of the same zygote, and of the zygote that replaces it."""
    token = "".join(SECRET_START) + secrets.token_hex(24)
    sought = {"start": SECRET_START, "digest": hashlib.sha256(token.encode()).hexdigest()}
    if context.is_control:
        return await context.run(inputs={**sought, "token": token})
    await loaded(context)
    files = {"secret.txt": token.encode()}
    observation = await context.run(hold_a_secret, inputs={"token": token}, files=files)
    for _ in range(6):
        if observation.report is None or observation.report.reached or observation.report.broken:
            break
        observation = await context.run(inputs=sought)
    return observation


@attack(drive=after_a_secret)
def heap(inputs: Inputs) -> str | None:
    """Searches its own memory for data of another run: its code, its files, its input."""
    return in_own_memory(inputs)


# The kernel


def no_keys() -> str | None:
    return None if os.path.exists("/proc/keys") else "this kernel keeps no keys"


def leave_keys(inputs: Inputs) -> None:
    for ring in (-4, -5, -3):  # keyrings of the user, of the user's sessions, of this session
        key = call("add_key", "user", inputs["mark"], "left", 4, ring)
        if key > 0:
            call("keyctl", 5, key, 0x3F3F3F3F)  # all rights for all users
            call("keyctl", 15, key, 60)  # the key expires by itself


@attack(drive=after(leave_keys), absent=no_keys)
def keyrings(inputs: Inputs) -> str | None:
    """Leaves a key in the user's keyring, which outlives every process of that user."""
    for ring in (-4, -5, -3):
        key = call("keyctl", 10, ring, "user", inputs["mark"], 0)
        if key > 0:
            call("keyctl", 9, key, ring)
            return f"an earlier run's key in keyring {ring}"
    if call("request_key", "user", inputs["mark"], 0, 0) > 0:
        return "an earlier run's key, on request"
    listed = inputs["mark"].encode() in (read("/proc/keys") or b"")
    return "an earlier run's key in /proc/keys" if listed else None


def no_posix_queues() -> str | None:
    return None if os.path.isdir("/proc/sys/fs/mqueue") else "this kernel has no POSIX queues"


def leave_a_queue(inputs: Inputs) -> None:
    library, name = libc(), f"/{inputs['mark']}".encode()
    queue = library.mq_open(name, os.O_CREAT | os.O_RDWR, 0o666, None)
    if queue >= 0:
        library.mq_send(queue, b"left", 4, 0)


@attack(drive=after(leave_a_queue), absent=no_posix_queues)
def posix_queues(inputs: Inputs) -> str | None:
    """Leaves a POSIX message queue with a message in it."""
    library, name = libc(), f"/{inputs['mark']}".encode()
    queue = library.mq_open(name, os.O_RDWR)
    library.mq_unlink(name)
    return "the queue of an earlier run" if queue >= 0 else None


def leave_sysv_objects(inputs: Inputs) -> None:
    library, key = libc(), int(inputs["mark"][-7:], 16)
    library.shmget(key, 4096, 0o1666)
    library.semget(key, 1, 0o1666)
    library.msgget(key, 0o1666)


@attack(drive=after(leave_sysv_objects))
def sysv_objects(inputs: Inputs) -> str | None:
    """Leaves memory, semaphores and queues of System V, which outlive every process."""
    library, key = libc(), int(inputs["mark"][-7:], 16)
    met = []
    if (memory := library.shmget(key, 0, 0)) >= 0:
        met.append("memory")
        library.shmctl(memory, 0, None)
    if (semaphores := library.semget(key, 0, 0)) >= 0:
        met.append("semaphores")
        library.semctl(semaphores, 0, 0)
    if (queue := library.msgget(key, 0)) >= 0:
        met.append("a queue")
        library.msgctl(queue, 0, None)
    return f"of an earlier run: {', '.join(met)}" if met else None


SHARE = Limits(memory_bytes=192 * MIB, processes=24, workspace_bytes=16 * MIB)
LESS = Limits(memory_bytes=192 * MIB, processes=4, workspace_bytes=2 * MIB)


def take_everything() -> None:
    for folder in ("/dev/shm", "/tmp", "/work"):
        try:
            with open(f"{folder}/full", "wb") as file:
                file.writelines(bytes(1 << 20) for _ in range(100))
        except OSError:
            continue
    for _ in range(100):
        if attempt(child, time.sleep, 10) is None:
            break
    blocks = []
    for _ in range(400):
        blocks.append(bytearray(b"x") * (1 << 20))
        time.sleep(0.001)


async def after_taking_everything(context: Context) -> Observation:
    await context.run(take_everything)
    observation = await context.run()
    if observation.report is not None and observation.report.reached is None:
        observation = await context.run()
    return observation


@attack(limits=SHARE, control=RaisedLimits(LESS), drive=after_taking_everything)
def exhausted(inputs: Inputs) -> str | None:
    """Uses up the memory, processes and disk of a run; the next run needs its own share."""
    for folder in ("/dev/shm", "/tmp", os.getcwd()):
        path = f"{folder}/{inputs['mark']}"
        try:
            write(path, bytes(8 << 20))
        except OSError as error:
            return f"no 8 MiB in {folder}: {error}"
        os.remove(path)
    children = [attempt(child, time.sleep, 0.2) for _ in range(12)]
    for pid in filter(None, children):
        os.waitpid(pid, 0)
    if None in children:
        return f"{children.index(None)} processes, and no more"
    blocks = [bytearray(b"x") * (1 << 20) for _ in range(64)]
    return None if len(blocks) == 64 else "no memory"
