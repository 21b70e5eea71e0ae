"""Drives of two runs: one that plants or holds, one that looks for what it must not find."""

from __future__ import annotations

import asyncio
import re
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drills.attacks.context import marked

if TYPE_CHECKING:
    from drills.attacks.attack import Drive, Probe
    from drills.attacks.context import Context
    from drills.attacks.outcome import Observation

RUNS_AFTER = 3
"""A room that is used again may not be the next one."""
HOLDING_SECONDS = (2.5, 10.0)
"""Long enough on an idle machine; and once more where the probe took longer."""
_READY_SECONDS, _LOOK_SECONDS = 5.0, 0.05


def after(plant: Probe, *, times: int = RUNS_AFTER, together: bool = False) -> Drive:
    """One run plants, and ends; the attack's probe looks in the runs that follow.

    `together`: in a control the probe itself plants first (`given["plant"]`), for what separate
    processes of a machine do not share either.
    """

    async def drive(context: Context) -> Observation:
        if together and context.is_control:
            return await context.run(given={"plant": True})
        await loaded(context)
        seen = await context.run(plant, given={"plant": False})
        for _ in range(times):
            if not _went_well(seen):
                break
            seen = await context.run(given={"plant": False})
        return seen

    return drive


def beside(holder: Probe) -> Drive:
    """One run holds what it has; the attack's probe looks for it meanwhile.

    The holder calls `ready`, and lives on for `given["seconds"]`. Both are told `theirs`, the
    holder's mark; the probe also `pids`, the holder's process numbers as the host knows them.
    """

    async def drive(context: Context) -> Observation:
        for seconds in HOLDING_SECONDS:
            theirs = f"mark-{secrets.token_hex(8)}"
            told = {"theirs": theirs, "seconds": seconds}
            holding = asyncio.ensure_future(replace(context, mark=theirs).run(holder, given=told))
            pids = await _pids(theirs)
            seen = await context.run(given={**told, "pids": pids})
            in_time = bool(pids) and not holding.done()
            held = await holding
            if not _went_well(held):
                return held
            if in_time or not _went_well(seen):
                return seen
        raise OSError("the neighbour never held on for as long as the probe took")

    return drive


async def loaded(context: Context) -> None:
    """Wait until rooms are forks of a server that has the usual libraries loaded, if they are."""
    warmed = getattr(context.sandbox, "warmed", None)
    if warmed is not None:
        await warmed()


def ready(given: dict[str, Any]) -> None:
    """In a holder: it has what is to be found. The host knows by the name that it takes."""
    import ctypes

    ctypes.CDLL(None).prctl(15, given["theirs"][:15].encode(), 0, 0, 0)  # PR_SET_NAME


async def _pids(mark: str) -> list[int]:
    """Waits until the holder is ready; none where it never is."""
    for _ in range(int(_READY_SECONDS / _LOOK_SECONDS)):
        found = await asyncio.to_thread(named, mark)
        if found:
            return found
        await asyncio.sleep(_LOOK_SECONDS)
    return []


def named(mark: str) -> list[int]:
    """Process numbers of those that bear the mark."""
    return [int(each) for each in re.findall(r"pid (\d+)", " ".join(marked(mark)))]


def _went_well(seen: Observation) -> bool:
    report = seen.report
    return report is not None and report.reached is None and report.broken is None and not seen.left
