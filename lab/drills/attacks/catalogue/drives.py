"""Drives that several attacks share: how runs are made to see what an attack is about."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from dataclasses import replace
from typing import Any

from sandbox.protocol import Command, End

from lab.drills.attacks.attack import Baseline, Drive, Probe
from lab.drills.attacks.context import Context, marked
from lab.drills.attacks.judges import broken, reported, survived
from lab.drills.attacks.outcome import Kind, Observation, Verdict

LOOK_SECONDS = 0.05
RUNS_AFTER = 3
"""A sandbox that is used again may not be the next one."""
HOLDING_SECONDS = (2.5, 10.0)
"""Long enough on an idle machine; and once more where the probe took longer."""
_READY_SECONDS = 8.0

PLANTED = Baseline(root=True, unshare=("--mount",))
"""The control of a probe that calls `bind_over`, with `planting` for its drive."""


async def outliving(context: Context) -> Verdict:
    """Run the probe, and see whether the host meets its marked processes while it runs: only where
    it has met them, their absence afterwards says something.
    """
    run = asyncio.ensure_future(context.run())
    met: tuple[str, ...] = ()
    while not run.done() and not met:
        met = await asyncio.to_thread(marked, context.mark)
        await asyncio.sleep(LOOK_SECONDS)
    verdict = reported(await run)
    if verdict.kind is Kind.HELD and not met:
        return broken("the host never met the processes that were to outlive the run")
    return verdict


async def with_the_next(context: Context) -> tuple[Observation, bool]:
    """Run the probe, then another that is quite ordinary; whether that went well."""
    seen = await context.run()
    after = await context.command(Command.python("print('still here')"), context.limits)
    return seen, after.result.succeeded and after.result.stdout.text == "still here\n"


def survives(*ends: End, code: int | None = None, within: float = 15.0) -> Drive:
    """The sandbox must survive the probe: see `judges.survived`."""

    async def drive(context: Context) -> Verdict:
        return survived(*await with_the_next(context), ends, code, within)

    return drive


async def planting(context: Context) -> Observation:
    """Gives the probe `plant`, whether it is to plant its finding first, as in a control."""
    return await context.run(given={"plant": context.is_control})


def after(plant: Probe, *, together: bool = False) -> Drive:
    """One run plants, and ends; the attack's probe looks in the runs that follow.

    `together`: in a control the probe itself plants first (`given["plant"]`), for what separate
    processes of a machine do not share either.
    """

    async def drive(context: Context) -> Observation:
        if together and context.is_control:
            return await context.run(given={"plant": True})
        await loaded(context)
        seen = await context.run(plant, given={"plant": False})
        for _ in range(RUNS_AFTER):
            if not _went_well(seen):
                break
            seen = await context.run(given={"plant": False})
        return seen

    return drive


def beside(holder: Probe) -> Drive:
    """One run holds what it has; the attack's probe looks for it meanwhile.

    The holder takes the name `given["neighbour"]`, its mark, when it is ready, and lives on for
    `given["seconds"]`. Both are given that mark; the probe also `pids`, the holder's process
    numbers as the host knows them.
    """

    async def drive(context: Context) -> Observation:
        for seconds in HOLDING_SECONDS:
            other = renamed(context)
            shared = {"neighbour": other.mark, "seconds": seconds}
            holding = asyncio.ensure_future(other.run(holder, given=shared))
            pids = await ready(other.mark)
            seen = await context.run(given={**shared, "pids": pids})
            in_time = bool(pids) and not holding.done()
            held = await holding
            if not _went_well(held):
                return held
            if in_time or not _went_well(seen):
                return seen
        raise OSError("the neighbour never held on for as long as the probe took")

    return drive


def renamed(context: Context) -> Context:
    """The same for another run at the same time, with a mark of its own."""
    return replace(context, mark=f"mark-{secrets.token_hex(8)}")


async def loaded(context: Context) -> None:
    """Wait until sandboxes are forks of a zygote that has loaded the usual libraries, if any."""
    warmed = getattr(context.sandbox, "warmed", None)
    if warmed is not None:
        await warmed()


async def ready(mark: str, run: asyncio.Future[Any] | None = None) -> list[int]:
    """The numbers of the processes with this mark, when there are some; none where there never are,
    or where `run` ends before."""
    for _ in range(int(_READY_SECONDS / LOOK_SECONDS)):
        found = re.findall(
            r"pid (\d+)", " ".join(await asyncio.to_thread(marked, mark))
        )
        if found or (run is not None and run.done()):
            return [int(each) for each in found]
        await asyncio.sleep(LOOK_SECONDS)
    return []


def facts(seen: Observation) -> dict[str, Any]:
    """What one run has written into `facts.json`. Raises ValueError where it has not."""
    data = seen.result.changed.get("facts.json")
    if data is None:
        raise ValueError(f"the run wrote no facts: {seen.result.end} {seen.report}")
    written: dict[str, Any] = json.loads(data)
    return written


def _went_well(seen: Observation) -> bool:
    report = seen.report
    return (
        report is not None
        and report.reached is None
        and report.broken is None
        and not seen.left
    )
