"""The artifact check: which files of a run's work area may arrive at the host.

On the host, `collected` judges the files that arrived. In a control, the probe collects its own
files naively: a trap works if `naive_collection` falls for it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import subprocess
import time
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from lab.drills.attacks.attack import Inputs, attack
from lab.drills.attacks.context import Context
from lab.drills.attacks.judges import judged, reached
from lab.drills.attacks.outcome import AttackVerdict, Observation, VerdictKind
from lab.drills.attacks.probes.primitives import child, holds, take_name, write
from sandbox.protocol import Command, Limits, RunResult

COLLECTING_SECONDS = 15.0
"""If the answer comes more than this number of seconds after the end of the code, the collector was
delayed.
"""
MOST_REFUSALS = 21
"""The most entries that a result may report as refused, including the line that counts the rest."""
HONEST = b"honest work\n"
UNSAFE_CATEGORIES = {"Cc", "Cs", "Zl", "Zp"}
BIDIRECTIONAL = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


async def collected(context: Context) -> AttackVerdict:
    """Run the probe, which collects naively in a control; then judge the files that arrived."""
    observation = await context.run(inputs={"naive": context.is_control})
    return judged(observation, [] if context.is_control else _faults(context, observation))


async def collected_and_next(context: Context) -> AttackVerdict:
    """As `collected`; the backend's next run must succeed, too."""
    verdict = await collected(context)
    after = await context.sandbox.run(Command(("python", "-c", "print(1)")), Limits())
    if verdict.kind is VerdictKind.HELD and not after.succeeded:
        return reached(f"the next run on the same backend: {after.end}")
    return verdict


trap = partial(attack, drive=collected)
"""An attack that leaves something for the collector. `inputs`: `comes`, files that must arrive with
honest work; `never`, files that must not arrive; `only`, all files that may arrive.
"""


def _faults(context: Context, observation: Observation) -> Iterator[str]:
    result, inputs = observation.result, context.attack.inputs
    names = [*result.changed, *result.links]
    yield from (f"{name!a} came: {oddity}" for name in names if (oddity := _odd(name)))
    yield from _too_much(result, context.limits)
    for name, data in result.changed.items():
        if context.host.secret.encode() in data:
            yield f"{name!a} came with the secret"
        if name in inputs.get("never", ()):
            yield f"{name} came"
    if more := set(result.changed).difference(inputs.get("only", result.changed)):
        yield f"came, too: {sorted(more)[:3]}"
    for name in inputs.get("comes", ()):
        if (content := result.changed.get(name)) != HONEST:
            yield f"the honest file {name} did not come: {content[:80] if content else content!r}"
    for reason in result.refused:
        if not reason.isprintable() or len(reason) > 1024:
            yield f"a refusal that is not printable: {reason[:60]!a}"
    if observation.seconds - result.seconds > COLLECTING_SECONDS:
        yield f"the answer came {observation.seconds - result.seconds:.1f} s after the end"
    yield from (f"the canary file {file} was changed" for file in context.host.harmed())


def _too_much(result: RunResult, limits: Limits) -> Iterator[str]:
    sizes = [len(data) for data in result.changed.values()]
    if len(sizes) + len(result.links) > limits.workspace_files:
        yield f"{len(sizes)} files and {len(result.links)} links came"
    if sum(sizes) > limits.workspace_bytes or max(sizes, default=0) > limits.file_bytes:
        yield f"{sum(sizes)} bytes came, {max(sizes)} in one file"
    if len(result.refused) > MOST_REFUSALS:
        yield f"{len(result.refused)} refusals were reported"


def _odd(name: str) -> str | None:
    """The reason why a name can do harm when it is stored or shown; None for a harmless name."""
    if any(
        unicodedata.category(character) in UNSAFE_CATEGORIES or character in BIDIRECTIONAL
        for character in name
    ):
        return "a sign that a terminal or a reader obeys"
    if name.startswith("/") or any(part in {"", ".", ".."} for part in name.split("/")):
        return "a path that leads elsewhere"
    if len(name.encode()) > 1024 or name.count("/") > 64:
        return "too long or too deep"
    return None


# In the sandbox


def honest_work() -> None:
    """Leave a further file, which must arrive: `inputs["comes"]` names it."""
    write("honest.txt", HONEST)


def naive_collection(inputs: Inputs) -> str | None:
    """Collect the current directory like a collector that expects no attack, then remove all of it.
    Returns the trap that worked. Only a control calls this.
    """
    if not inputs["naive"]:
        return None

    def late(*_: Any) -> None:
        raise TimeoutError

    def fail(error: OSError) -> None:
        raise error

    signal.signal(signal.SIGALRM, late)
    name, count, total = "", 0, 0
    try:
        for folder, folders, files in os.walk(os.getcwd(), followlinks=True, onerror=fail):
            folders.sort()
            for name in sorted(files):
                path = os.path.join(folder, name)
                count, total = count + 1, total + os.path.getsize(path)
                if count > 5_000 or total > 1 << 30:
                    return f"it takes {count} files of {total} bytes"
                if fault := naively_read(inputs, path):
                    return f"it takes {name!r}: {fault}"
    except TimeoutError:
        return f"it waits for {name}"
    except (OSError, RecursionError, UnicodeError) as error:
        return f"it fails: {type(error).__name__}: {str(error)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        words = "chmod -R u+rwX .; find . -mindepth 1 -delete"
        subprocess.run(["sh", "-c", words], stderr=subprocess.DEVNULL, check=False)
    return None


def naively_read(inputs: Inputs, path: str) -> str | None:
    """Read as many bytes as the file's size says; returns the fault, if any. A signal ends the
    process if it waits.
    """
    if not os.path.basename(path).isprintable() or "\\" in path:
        return "a harmful name"
    announced = os.path.getsize(path)
    signal.setitimer(signal.ITIMER_REAL, 1)
    with open(path, "rb") as file:
        data = file.read(1 << 26)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if holds(inputs, data):
        return "the canary"
    return f"{announced} bytes announced, {len(data)} sent" if len(data) != announced else None


def restless(inputs: Inputs, action: Callable[[], object]) -> int:
    """Fork a process that repeats `action` for 15 s, while the run ends; its name is the mark."""

    def repeat() -> None:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        take_name(inputs["mark"])
        until = time.monotonic() + 15
        while time.monotonic() < until:
            action()

    return child(repeat)


def exchange(first: str, second: str) -> Callable[[], object]:
    """A function that swaps two names, so that both names exist at all times."""
    library, at_cwd = ctypes.CDLL(None), -100
    return lambda: library.renameat2(at_cwd, first.encode(), at_cwd, second.encode(), 2)


def outrun(inputs: Inputs, path: str, checked: str, pid: int) -> str | None:
    """In a control: read `path` whenever `checked` is no link, like a collector that checks first.
    Ends the restless process `pid`.
    """
    until = time.monotonic() + 6
    try:
        while time.monotonic() < until:
            if stat.S_ISLNK(os.lstat(checked).st_mode):
                continue
            with open(path, "rb") as file:
                if holds(inputs, file.read()):
                    return f"{path} was a link when it was opened, and none when it was looked at"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return None
