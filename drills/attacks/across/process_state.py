"""Changes what a process hands down: limits, priority, masks; a later run looks at its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.judges import reached, reported
from drills.attacks.steps.facts import facts, note
from drills.attacks.steps.runs import loaded

if TYPE_CHECKING:
    from drills.attacks.context import Context
    from drills.attacks.outcome import Observation, Verdict

RUNS = 3


def state() -> dict[str, Any]:
    """What is handed down, as JSON."""
    import os
    import resource
    import signal

    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    os.umask(mask := os.umask(0))
    told = {name: resource.getrlimit(getattr(resource, name)) for name in names}
    handlers = {n: str(signal.getsignal(n)) for n in range(1, 32)}
    return {
        **{name: list(pair) for name, pair in told.items()},
        "umask": mask,
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "processors": sorted(os.sched_getaffinity(0)),
        "signals": {str(n): words for n, words in handlers.items() if " at 0x" not in words},
        "blocked": sorted(int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "folder": os.path.basename(os.getcwd()),
    }


def plant(given: dict[str, Any]) -> str | None:
    import os
    import resource
    import signal

    resource.setrlimit(resource.RLIMIT_NOFILE, (37, 37))
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
    os.umask(0o077)
    os.nice(7)
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    if not given["plant"]:
        os.chdir("/")
    return None


def probe(given: dict[str, Any]) -> str | None:
    if given["plant"]:
        plant(given)
    note(state())
    return None


async def drive(context: Context) -> Observation:
    await loaded(context)
    before = facts(await context.run(given={"plant": False}))
    if not context.is_control:
        await context.run(plant, given={"plant": False})
    runs = [await context.run(given={"plant": context.is_control}) for _ in range(RUNS)]
    other = [name for each in map(facts, runs) for name in before if each[name] != before[name]]
    return replace(runs[-1], notes={"other": sorted(set(other))})


def judge(seen: Observation) -> Verdict:
    other = seen.notes["other"]
    return reached(f"not as it was before: {', '.join(other)}") if other else reported(seen)


ATTACK = Attack(
    probe,
    expects="each run starts in the same state",
    uses=(note, state, plant),
    drive=drive,
    judge=judge,
)
