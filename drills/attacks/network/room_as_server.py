"""Listens on a port, for whoever may come to it from the host: a way out, dialled from out."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.scene import Scene
from drills.attacks.seen import Seen


def probe(given: dict[str, Any]) -> str | None:
    import socket

    place = "0.0.0.0" if given["enclosed"] else "127.0.0.1"
    with socket.create_server((place, given["port"])) as server:
        server.settimeout(2)
        try:
            peer, address = server.accept()
        except OSError:
            return None
        with peer:
            peer.settimeout(1)
            return f"{address[0]} came and said {len(peer.recv(100))} bytes"


async def drive(scene: Scene) -> Seen:
    """Knock at the port for as long as the run lasts."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    run = asyncio.ensure_future(scene.run(given={"port": port}))
    while not run.done():
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(scene.mark.encode())
            writer.close()
        await asyncio.sleep(0.05)
    return await run


ATTACK = Attack(probe, expects="nobody can come to it", drive=drive)
