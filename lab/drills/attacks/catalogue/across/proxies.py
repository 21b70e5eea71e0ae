"""A run reaches the proxy of another run, or more than its own proxy allows."""

from __future__ import annotations

import asyncio
import socket
from asyncio import StreamReader, StreamWriter
from dataclasses import replace

from lab.drills.attacks.attack import Inputs, OtherProbe, attack
from lab.drills.attacks.catalogue.drives import renamed
from lab.drills.attacks.catalogue.network import links_out, stream
from lab.drills.attacks.context import Context
from lab.drills.attacks.outcome import Observation
from lab.drills.attacks.probes.primitives import allowed, attempt, holds
from sandbox.protocol import PROXY_PORT
from sandbox.zygote.relay import LISTENER_PATH

HOSTS = ("127.0.0.1", "localhost", "127.0.0.2", "0.0.0.0", "::1", "::ffff:127.0.0.1")


async def silent(reader: StreamReader, _: StreamWriter) -> None:
    """A proxy that sends no answer."""
    await reader.read()


async def beside_anothers(context: Context) -> Observation:
    """Run the probe twice, without a proxy and with a silent proxy, while the proxy of another run
    sends the secret. In a control, the probe's own proxy sends the secret.
    """
    open_, over = asyncio.Event(), asyncio.Event()

    async def tell(_: StreamReader, writer: StreamWriter) -> None:
        writer.write(context.host.secret.encode())
        await writer.drain()
        open_.set()
        await over.wait()

    if context.is_control:
        over.set()
        return await replace(context, proxy=tell).run()
    neighbour = asyncio.ensure_future(replace(renamed(context), proxy=tell).run(keep_connected))
    try:
        opened = asyncio.ensure_future(open_.wait())
        await asyncio.wait({neighbour, opened}, return_when=asyncio.FIRST_COMPLETED)
        if not open_.is_set():
            opened.cancel()
            return await neighbour
        observation = await context.run()
        if observation.report is not None and observation.report.reached is None:
            observation = await replace(context, proxy=silent).run()
    finally:
        over.set()
        neighbour_result = await neighbour
    return (
        observation
        if neighbour_result.report is not None and neighbour_result.report.broken is None
        else neighbour_result
    )


def keep_connected() -> str | None:
    """In the other run: connect to its proxy, and stay until the proxy closes the connection."""
    with socket.create_connection(("127.0.0.1", PROXY_PORT)) as link:
        while link.recv(100):
            pass
    return None


def proxy_reply(link: socket.socket) -> bytes:
    """The bytes that arrive within a second."""
    link.settimeout(1)
    return attempt(link.recv, 1000) or b""


def find_a_proxy(inputs: Inputs) -> str | None:
    """Connects to the proxy of a concurrent run, with a proxy of its own or without one."""
    for host in HOSTS:
        link = attempt(socket.create_connection, (host, PROXY_PORT), 2)
        if link is not None:
            with link:
                if holds(inputs, proxy_reply(link)):
                    return f"a proxy answered at {host}"
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(1)
        if allowed(asking.connect, LISTENER_PATH) and allowed(asking.send, b"R"):
            _, descriptors, _, _ = attempt(socket.recv_fds, asking, 1, 1) or (b"", [], 0, "")
            for descriptor in descriptors:
                with socket.socket(fileno=descriptor) as link:
                    if holds(inputs, proxy_reply(link)):
                        return "a relay's connection"
    return None


others_proxy = attack(drive=beside_anothers, control=OtherProbe(find_a_proxy))(find_a_proxy)


async def with_a_proxy(context: Context) -> Observation:
    """Run the probe with a silent proxy."""
    return await replace(context, proxy=silent).run()


@attack(drive=with_a_proxy)
def beside_its_proxy(inputs: Inputs) -> str | None:
    """Has a proxy, and tries to connect to other addresses of the worker's machine."""
    for host in HOSTS:
        if answer := stream((host, inputs["servers"]["tcp"][1]), inputs["mark"]):
            return answer
    if interfaces := links_out():
        return f"interfaces that lead out: {interfaces}"
    with socket.create_connection(("127.0.0.1", PROXY_PORT), 2) as link:
        addresses = (link.getsockname()[0], link.getpeername()[0])
    return None if addresses == ("127.0.0.1", "127.0.0.1") else f"it was connected by {addresses}"
