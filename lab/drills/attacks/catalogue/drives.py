"""Drives that several attacks share: the runs in which an attack can be observed."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from dataclasses import replace
from typing import Any

from lab.drills.attacks.attack import BaselineControl, Drive, Probe
from lab.drills.attacks.context import Context, marked
from lab.drills.attacks.judges import broken, reported, survived
from lab.drills.attacks.outcome import AttackVerdict, Observation, VerdictKind
from sandbox.protocol import Command, End

LOOK_SECONDS = 0.05
RUNS_AFTER = 3
"""The number of later runs: a sandbox that is used again may not be the next one."""
HOLDING_SECONDS = (2.5, 10.0)
"""The seconds for a neighbour: enough on an idle machine. If the probe took longer, the run is
repeated.
"""
_READY_SECONDS = 8.0

PLANTED = BaselineControl(root=True, unshare=("--mount",))
"""The control of a probe that calls `bind_over`, with the drive `planting`."""


async def outliving(context: Context) -> AttackVerdict:
    """Run the probe, and check that the host sees its marked processes while it runs: their absence
    afterwards is evidence only if the host has seen them before.
    """
    run = asyncio.ensure_future(context.run())
    met: tuple[str, ...] = ()
    while not run.done() and not met:
        met = await asyncio.to_thread(marked, context.mark)
        await asyncio.sleep(LOOK_SECONDS)
    verdict = reported(await run)
    if verdict.kind is VerdictKind.HELD and not met:
        return broken("the host never met the processes that were to outlive the run")
    return verdict


async def with_the_next(context: Context) -> tuple[Observation, bool]:
    """Run the probe, then an ordinary probe; the verdict covers both."""
    observation = await context.run()
    after = await context.command(Command.python("print('still here')"), context.limits)
    return observation, after.result.succeeded and after.result.stdout.text == "still here\n"


def survives(*ends: End, code: int | None = None, within: float = 15.0) -> Drive:
    """The sandbox must survive the probe: see `judges.survived`."""

    async def drive(context: Context) -> AttackVerdict:
        return survived(*await with_the_next(context), ends, code, within)

    return drive


async def planting(context: Context) -> Observation:
    """Tell the probe in `plant` whether it must plant its finding first, as in a control."""
    return await context.run(inputs={"plant": context.is_control})


def after(plant: Probe, *, together: bool = False) -> Drive:
    """One run plants something and ends; the attack's probe looks for it in later runs.

    `together`: in a control, the probe itself plants first (`inputs["plant"]`), for things that
    separate processes of a machine do not share either.
    """

    async def drive(context: Context) -> Observation:
        if together and context.is_control:
            return await context.run(inputs={"plant": True})
        await loaded(context)
        observation = await context.run(plant, inputs={"plant": False})
        for _ in range(RUNS_AFTER):
            if not _went_well(observation):
                break
            observation = await context.run(inputs={"plant": False})
        return observation

    return drive


def beside(holder: Probe) -> Drive:
    """One run holds things while the attack's probe looks for them.

    When the holder is ready, it takes the name `inputs["neighbour"]`, its mark, and lives for
    `inputs["seconds"]`. Both get this mark; the probe also gets `pids`, the holder's process
    numbers on the host.
    """

    async def drive(context: Context) -> Observation:
        for seconds in HOLDING_SECONDS:
            holder_context = renamed(context)
            shared = {"neighbour": holder_context.mark, "seconds": seconds}
            holding = asyncio.ensure_future(holder_context.run(holder, inputs=shared))
            pids = await ready(holder_context.mark)
            observation = await context.run(inputs={**shared, "pids": pids})
            in_time = bool(pids) and not holding.done()
            holder_result = await holding
            if not _went_well(holder_result):
                return holder_result
            if in_time or not _went_well(observation):
                return observation
        raise OSError("the neighbour never held on for as long as the probe took")

    return drive


def renamed(context: Context) -> Context:
    """The context of another run at the same time, with its own mark."""
    return replace(context, mark=f"mark-{secrets.token_hex(8)}")


async def loaded(context: Context) -> None:
    """Wait until sandboxes are forks of a zygote that has loaded the usual libraries, if there is a
    zygote.
    """
    warmed = getattr(context.sandbox, "warmed", None)
    if warmed is not None:
        await warmed()


async def ready(mark: str, run: asyncio.Future[Any] | None = None) -> list[int]:
    """The numbers of the processes with this mark, as soon as there are any; empty if none appears,
    or if `run` ends first.
    """
    for _ in range(int(_READY_SECONDS / LOOK_SECONDS)):
        pids = re.findall(r"pid (\d+)", " ".join(await asyncio.to_thread(marked, mark)))
        if pids or (run is not None and run.done()):
            return [int(pid) for pid in pids]
        await asyncio.sleep(LOOK_SECONDS)
    return []


def facts(observation: Observation) -> dict[str, Any]:
    """The content of the `facts.json` of a run. Raises ValueError without that file."""
    data = observation.result.changed.get("facts.json")
    if data is None:
        raise ValueError(f"the run wrote no facts: {observation.result.end} {observation.report}")
    written: dict[str, Any] = json.loads(data)
    return written


def _went_well(observation: Observation) -> bool:
    report = observation.report
    return (
        report is not None
        and report.reached is None
        and report.broken is None
        and not observation.survivors
    )
