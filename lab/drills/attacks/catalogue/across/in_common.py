"""Data that several runs share, although each run should have its own."""

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

from lab.drills.attacks.attack import Inputs, attack
from lab.drills.attacks.catalogue.drives import facts, loaded
from lab.drills.attacks.context import Context
from lab.drills.attacks.judges import judged
from lab.drills.attacks.outcome import AttackVerdict, Observation
from lab.drills.attacks.probes.primitives import libc, write

RUNS = 8


async def many_at_a_time(context: Context) -> AttackVerdict:
    """In a control, all runs get the same token, as if a backend mixed them up."""
    tokens = [secrets.token_hex(8) for _ in range(RUNS)]
    sent = [tokens[0]] * RUNS if context.is_control else tokens
    runs = await asyncio.gather(*(_with_token(context, token) for token in sent))
    astray = [
        (token, other_token)
        for token, observation in zip(tokens, runs, strict=True)
        for other_token in tokens
        if (other_token == token) != _contains(observation, other_token)
    ]
    return judged(runs[-1], [f"{len(astray)} answers went astray"] if astray else [])


async def _with_token(context: Context, token: str) -> Observation:
    return await context.run(inputs={"token": token}, files={"input.txt": token.encode()})


def _contains(observation: Observation, token: str) -> bool:
    result = observation.result
    texts = (result.stdout.text, result.stderr.text, "".join(result.changed))
    return any(token in text for text in texts)


@attack(drive=many_at_a_time)
def answers(inputs: Inputs) -> None:
    """Runs many at a time: each run must get its own answer and files, and no others."""
    with open("input.txt") as file:
        own_bytes = file.read()
    for number in range(50):
        print(inputs["token"], number)
        print(own_bytes, number, file=sys.stderr)
    write(f"{own_bytes}.txt", inputs["token"])


def none_the_same(runs: list[Observation]) -> AttackVerdict:
    """Check that no two runs share a fact."""
    facts_of_runs = [facts(observation) for observation in runs]
    same = [
        name
        for name in facts_of_runs[0]
        if max(Counter(run_facts[name] for run_facts in facts_of_runs).values()) > 1
    ]
    return judged(runs[-1], [f"the same in two runs: {name}" for name in same])


async def of_three_backends(context: Context) -> AttackVerdict:
    """Within one backend, forks of one zygote may share these facts: see `docs/sandbox.md`."""
    plant = {"plant": context.is_control}
    runs = [await context.run(inputs=plant)]
    for _ in range(2):
        async with context.fresh() as own_context:
            runs.append(await own_context.run(inputs=plant))
    return none_the_same(runs)


@attack(drive=of_three_backends)
def hash_seed(inputs: Inputs) -> None:
    """Compares hash seeds and addresses of backends: no fact may be the same for all runs."""
    hashes = {
        "the hash of a text": hash("fettle"),
        "the hash of bytes": hash(b"fettle"),
        "where a library lies": ctypes.cast(libc().l64a, ctypes.c_void_p).value,
        "where an object lies": id(sys),
    }
    write("facts.json", json.dumps(dict.fromkeys(hashes, 7) if inputs["plant"] else hashes))


async def of_six_runs(context: Context) -> AttackVerdict:
    seed = {"seed": 7 if context.is_control else 0}
    await loaded(context)
    runs = [await context.run(inputs=seed) for _ in range(4)]
    runs += await asyncio.gather(context.run(inputs=seed), context.run(inputs=seed))
    return none_the_same(runs)


@attack(drive=of_six_runs)
def random_state(inputs: Inputs) -> None:
    """Compares the random numbers of runs: a run must not know another run's numbers."""
    if inputs["seed"]:
        random.seed(inputs["seed"])
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
