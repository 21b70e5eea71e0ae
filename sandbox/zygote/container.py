"""The entry of a sandbox that is a container: the agent's control is the container's own streams.

Standard output would carry whatever a library prints while it is loaded, so the control moves to
other descriptors first, which no program that the agent starts inherits.
"""

# ruff: noqa: PTH103, PTH112, PTH123, PTH208

from __future__ import annotations

import os
import signal

from sandbox.agent import landlock, program, serve
from sandbox.agent.copy import copy_layers
from sandbox.agent.resource_monitor import ResourceMonitor
from sandbox.agent.walk import Base
from sandbox.zygote import interpreter

FONTS = "/agent/fonts"
GIVEN = "/agent/given"


def main(*, load: bool, base: str | None, port: int) -> None:
    """Serve one order; with the usual libraries loaded before saying that the sandbox is ready, or
    without, which is quicker where an order waits already. `/work` begins as a copy of `base`. What
    connects to `port` gets out by relays; 0: nobody listens.
    """
    control = _control()
    given = _given()
    if load:
        from sandbox.zygote import preload  # noqa: PLC0415

        preload.load()
    # The agent is the container's init: what it does not handle does not reach it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    landlock.restrict()
    serve.harden()
    if port:
        from sandbox.zygote import relay  # noqa: PLC0415

        relay.listen(port, control)
    copied = None if base is None else _copied(base)
    monitor = ResourceMonitor()
    waiting = interpreter.prepare(given)
    serve.serve(*control, given, waiting, monitor, copied)
    os._exit(0)


def _control() -> tuple[int, int]:
    """Take standard input and output for the control, and put nothing in their place."""
    control = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1):
        os.dup2(null, fd)
    os.close(null)
    return control


def _copied(place: str) -> Base:
    base = Base(())
    base.layers = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    copy_layers(base, program.WORK)
    return base


def _given() -> serve.AgentContext:
    """What the image says; and matplotlib's font cache where it may also write: a read-only one
    makes it complain.
    """
    given = serve.AgentContext.read(GIVEN)
    os.environ.clear()  # the engine has put something of its own into it
    os.environ.update(given.env)
    place = given.env["MPLCONFIGDIR"]
    os.makedirs(place, exist_ok=True)
    for name in os.listdir(FONTS) if os.path.isdir(FONTS) else ():
        with open(f"{FONTS}/{name}", "rb") as source, open(f"{place}/{name}", "wb") as file:
            file.write(source.read())
    return given
