"""Has thousands of descriptors on their way through sockets: the kernel counts those for each user
of the host, and who supervises the rooms sends some, too.
"""

from __future__ import annotations

import asyncio
import resource
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack, Baseline
from drills.attacks.judges import reached, reported
from drills.attacks.outcome import Observation, Verdict
from drills.attacks.steps.runs import named, ready
from sandbox.protocol import Command, Limits, SandboxUnavailable

if TYPE_CHECKING:
    from drills.attacks.context import Context

USUAL_LIMIT = 1024
"""Of open files: what most systems start a process with, and so a worker and its supervisor."""
SENDERS, EACH = 50, 250
HOLDING_SECONDS = 4.0
_READY_SECONDS, _LOOK_SECONDS = 8.0, 0.05
_PAUSE_SECONDS = 1.5
"""Rooms stand ready for the first neighbour; those of later ones are made meanwhile."""
_OVERHEAD_SECONDS = 1.0
"""What is more was spent in vain: the run has lost its room, and was begun again."""


def probe(given: dict[str, Any]) -> str | None:
    import array
    import os
    import socket
    import threading
    import time

    null = os.open("/dev/null", os.O_RDONLY)
    carried = array.array("i", [null] * given["each"])
    full = []
    for number in range(given["senders"]):
        taking = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        taking.bind(f"{number}.socket")
        sending = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sending.connect(taking.getsockname())
        sending.setblocking(False)
        waiting = 0
        try:
            while waiting < 500:
                sending.send(b"x")
                waiting += 1
        except BlockingIOError:
            pass
        sending.setblocking(True)
        full.append((taking, sending, waiting))

    sent = []

    def send(sending: socket.socket) -> None:
        sending.sendmsg([b"y"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, carried)])
        sent.append(sending)

    for _, sending, _ in full:  # each is past the kernel's count, and waits for a place
        threading.Thread(target=send, args=(sending,), daemon=True).start()
    time.sleep(0.7)
    for taking, _, waiting in full:
        for _ in range(waiting):
            taking.recv(8)
    time.sleep(0.3)
    if len(sent) < len(full):
        raise RuntimeError(f"no more than {len(sent)} of {len(full)} were sent")
    ready(given)
    time.sleep(given["seconds"])
    return None


def pass_one(given: dict[str, Any]) -> str | None:
    """In a control: what a supervisor does, as the same user."""
    import resource
    import socket

    resource.setrlimit(resource.RLIMIT_NOFILE, (given["limit"], given["limit"]))
    one, other = socket.socketpair()
    try:
        socket.send_fds(one, [b"x"], [other.fileno()])
    except OSError as error:
        return f"a neighbour could not pass a descriptor on: {error}"
    return None


def wait(given: dict[str, Any]) -> str | None:
    import time

    time.sleep(given["seconds"])
    return None


async def drive(context: Context) -> Observation:
    if context.is_control:
        flood = await _underway(context)
        seen = await _other(context).run(pass_one, given={"limit": USUAL_LIMIT})
        await flood
        return seen
    async with _usual(context) as own:
        beside = asyncio.ensure_future(_neighbour(own, HOLDING_SECONDS))
        flood = await _underway(own)
        troubles = [await _neighbour(own, 0.0)]
        await asyncio.sleep(_PAUSE_SECONDS)
        troubles += [await _neighbour(own, 0.0), await _neighbour(own, 0.0), await beside]
        return replace(await flood, notes={"troubles": [each for each in troubles if each]})


@asynccontextmanager
async def _usual(context: Context) -> AsyncIterator[Context]:
    """A backend of its own that was started as most are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with context.fresh() as own:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(USUAL_LIMIT, hard), hard))
            await own.sandbox.run(Command.python("print(1)"), Limits())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        yield own


async def _neighbour(context: Context, seconds: float) -> str | None:
    """Another run, of a program that takes so long; the trouble that it had, if any."""
    try:
        seen = await _other(context).run(wait, given={"seconds": seconds})
    except SandboxUnavailable as error:
        return f"a neighbour had no room: {error}"
    if not seen.result.succeeded:
        return f"a neighbour's run ended as {seen.result.end}"
    if seen.seconds - seen.result.seconds > _OVERHEAD_SECONDS:
        return f"a neighbour's run of {seen.result.seconds:.1f} s took {seen.seconds:.1f} s"
    return None


def _other(context: Context) -> Context:
    return replace(context, mark=f"mark-{secrets.token_hex(8)}")


async def _underway(context: Context) -> asyncio.Future[Observation]:
    """The attack's run, when it has its descriptors on their way, or has ended."""
    told = {"theirs": context.mark, "seconds": HOLDING_SECONDS}
    flood = asyncio.ensure_future(context.run(given=told))
    for _ in range(int(_READY_SECONDS / _LOOK_SECONDS)):
        if flood.done() or bool(await asyncio.to_thread(named, context.mark)):
            break
        await asyncio.sleep(_LOOK_SECONDS)
    return flood


def judge(seen: Observation) -> Verdict:
    troubles = seen.notes.get("troubles")
    return reached("; ".join(troubles)) if troubles else reported(seen)


ATTACK = Attack(
    probe,
    expects="rooms are made and handed over, and other runs go on, as if there were none",
    given={"senders": SENDERS, "each": EACH},
    uses=(ready,),
    drive=drive,
    judge=judge,
    control=Baseline(),
    alone=True,
)
