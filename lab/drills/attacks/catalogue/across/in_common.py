"""What runs have in common that should be each one's own."""

from __future__ import annotations

import asyncio
import ctypes
import importlib
import json
import multiprocessing
import os
import random
import secrets
import ssl
import sys
import tempfile
import uuid
from collections import Counter

from lab.drills.attacks.attack import Given, attack
from lab.drills.attacks.catalogue.drives import facts, loaded
from lab.drills.attacks.context import Context
from lab.drills.attacks.judges import judged
from lab.drills.attacks.outcome import Observation, Verdict
from lab.drills.attacks.probes.primitives import libc, write

RUNS = 8


async def many_at_a_time(context: Context) -> Verdict:
    """In a control all of them are given one token, as a backend would that mixes them up."""
    tokens = [secrets.token_hex(8) for _ in range(RUNS)]
    sent = [tokens[0]] * RUNS if context.is_control else tokens
    runs = await asyncio.gather(*(_with_token(context, each) for each in sent))
    astray = [
        (token, each)
        for token, seen in zip(tokens, runs, strict=True)
        for each in tokens
        if (each == token) != _contains(seen, each)
    ]
    return judged(runs[-1], [f"{len(astray)} answers went astray"] if astray else [])


async def _with_token(context: Context, token: str) -> Observation:
    return await context.run(
        given={"token": token}, files={"input.txt": token.encode()}
    )


def _contains(seen: Observation, token: str) -> bool:
    result = seen.result
    texts = (result.stdout.text, result.stderr.text, "".join(result.changed))
    return any(token in each for each in texts)


@attack(drive=many_at_a_time)
def answers(given: Given) -> None:
    """Runs many at a time: each must get its own answer and its own files, and nobody else's."""
    with open("input.txt") as file:
        own = file.read()
    for number in range(50):
        print(given["token"], number)
        print(own, number, file=sys.stderr)
    write(f"{own}.txt", given["token"])


def none_the_same(runs: list[Observation]) -> Verdict:
    """No two of the runs may have a fact in common."""
    found = [facts(each) for each in runs]
    same = [
        name
        for name in found[0]
        if max(Counter(each[name] for each in found).values()) > 1
    ]
    return judged(runs[-1], [f"the same in two runs: {name}" for name in same])


async def of_three_backends(context: Context) -> Verdict:
    """Within one backend they may be shared by forks of one zygote: see `docs/sandbox.md`."""
    plant = {"plant": context.is_control}
    runs = [await context.run(given=plant)]
    for _ in range(2):
        async with context.fresh() as own:
            runs.append(await own.run(given=plant))
    return none_the_same(runs)


@attack(drive=of_three_backends)
def hash_seed(given: Given) -> None:
    """Compares hash seeds and addresses of backends: what one run learns must not hold for all."""
    found = {
        "the hash of a text": hash("fettle"),
        "the hash of bytes": hash(b"fettle"),
        "where a library lies": ctypes.cast(libc().l64a, ctypes.c_void_p).value,
        "where an object lies": id(sys),
    }
    write(
        "facts.json", json.dumps(dict.fromkeys(found, 7) if given["plant"] else found)
    )


async def of_six_runs(context: Context) -> Verdict:
    seed = {"seed": 7 if context.is_control else 0}
    await loaded(context)
    runs = [await context.run(given=seed) for _ in range(4)]
    runs += await asyncio.gather(context.run(given=seed), context.run(given=seed))
    return none_the_same(runs)


@attack(drive=of_six_runs)
def random_state(given: Given) -> None:
    """Compares what runs draw at random: one that knows its own draws must not know another's."""
    if given["seed"]:
        random.seed(given["seed"])
    drawn = {
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
        drawn["numpy.random"] = float(np.random.random())
        drawn["default_rng"] = float(np.random.default_rng().random())
    except ImportError:
        pass
    write("facts.json", json.dumps(drawn))
