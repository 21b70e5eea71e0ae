"""Drives that several attacks share."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from drills.attacks.judges import broken, reported
from drills.attacks.scene import Scene, marked
from drills.attacks.seen import Kind, Seen, Verdict
from sandbox.protocol import Command

LOOK_SECONDS = 0.05


async def watched(scene: Scene) -> Seen:
    """Run the probe, and see whether the host meets its marked processes while it runs."""
    run = asyncio.ensure_future(scene.run())
    met: tuple[str, ...] = ()
    while not run.done() and not met:
        met = await asyncio.to_thread(marked, scene.mark)
        await asyncio.sleep(LOOK_SECONDS)
    return replace(await run, notes={"met": met})


def outlived(seen: Seen) -> Verdict:
    """Judges what `watched` saw: only where the host has met them, their absence says something."""
    verdict = reported(seen)
    if verdict.kind is Kind.HELD and not seen.notes["met"]:
        return broken("the host never met the processes that were to outlive the run")
    return verdict


async def survived(scene: Scene) -> Seen:
    """Run the probe, then another that is quite ordinary; `answered` wants both to end as usual."""
    seen = await scene.run()
    after = await scene.command(Command.python("print('still here')"), scene.limits)
    fine = after.result.succeeded and after.result.stdout.text == "still here\n"
    return replace(seen, notes={"after": fine})


async def beside(scene: Scene, neighbour: Any, *, settle: float = 0.5) -> tuple[Seen, Seen, Seen]:
    """A neighbour's run alone, then the attack's probe, and the neighbour's again meanwhile.

    `neighbour` is a probe. Returns what was seen of: the neighbour alone, beside it, the attack.
    """
    alone = await scene.run(neighbour)
    run = asyncio.ensure_future(scene.run())
    await asyncio.sleep(settle)
    neighbouring = replace(scene, mark=f"{scene.mark}-n")
    return alone, await neighbouring.run(neighbour), await run
