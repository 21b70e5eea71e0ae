"""Compares what runs draw at random: one that knows its own draws must not know another's."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.judges import reached, reported
from drills.attacks.steps.facts import facts, note
from drills.attacks.steps.runs import loaded

if TYPE_CHECKING:
    from drills.attacks.context import Context
    from drills.attacks.outcome import Observation, Verdict

RUNS = 6


def probe(given: dict[str, Any]) -> str | None:
    import importlib
    import multiprocessing
    import os
    import random
    import secrets
    import ssl
    import tempfile
    import uuid

    if given["seed"]:
        random.seed(given["seed"])
    told = {
        "random": random.random(),
        "os.urandom": os.urandom(8).hex(),
        "secrets": secrets.token_hex(8),
        "uuid4": str(uuid.uuid4()),
        "tempfile": os.path.basename(tempfile.mktemp()),
        "multiprocessing's key": bytes(multiprocessing.current_process().authkey).hex(),
        "openssl": ssl.RAND_bytes(8).hex(),
    }
    try:
        np = importlib.import_module("numpy")
        told["numpy.random"] = float(np.random.random())
        told["default_rng"] = float(np.random.default_rng().random())
    except ImportError:
        pass
    note(told)
    return None


async def drive(context: Context) -> Observation:
    seed = {"seed": 7 if context.is_control else 0}
    await loaded(context)
    runs = [await context.run(given=seed) for _ in range(RUNS - 2)]
    runs += await asyncio.gather(context.run(given=seed), context.run(given=seed))
    told = [facts(each) for each in runs]
    same = [name for name in told[0] if max(Counter(each[name] for each in told).values()) > 1]
    return replace(runs[-1], notes={"same": same})


def judge(seen: Observation) -> Verdict:
    same = seen.notes["same"]
    return reached(f"the same in two runs: {', '.join(same)}") if same else reported(seen)


ATTACK = Attack(
    probe,
    expects="no two runs draw the same",
    uses=(note,),
    drive=drive,
    judge=judge,
)
