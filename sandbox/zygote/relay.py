"""How connections to a port inside of a container get out: by relays, over streams of the engine.

Nothing but streams comes out of a container. So a process that the agent forks listens (`listen`),
and gives each connection to a relay that asks for one: a process that the worker has had started in
the container, which copies between the connection and its own standard streams (`main`), and then
takes another.

What goes over those streams, for each connection in turn, in pieces as of `wire.write_sized`:

    worker -> relay    an empty piece: take a connection. Pieces for it; an empty one, after which
                       no more follow; and CLOSE in place of a size, when it is to be closed
    relay -> worker    `wire.READY` when there is a connection. Its pieces; an empty one at its end

A relay is no child of the agent, and the kernel may forbid the agent to signal it (Landlock). So it
ends with the one who listens, whom the agent kills at the run's end as it kills all.
"""

from __future__ import annotations

import os
import select
import socket
import threading

from sandbox.agent import program, wire

PLACE = "/run/relays"
"""Where relays ask for a connection each."""
PIECE_BYTES = 1 << 16
CLOSE = (1 << 32) - 1
_BACKLOG = 64
"""Connections that no relay has taken yet; and relays that wait."""


def listen(port: int, control: tuple[int, int]) -> None:
    """Listen in a process of its own, which has nothing of the agent's `control`."""
    asked = socket.socket(socket.AF_UNIX)
    asked.bind(PLACE)
    asked.listen(_BACKLOG)
    listening = socket.create_server(("127.0.0.1", port), backlog=_BACKLOG)
    if os.fork() == 0:
        try:
            for fd in control:
                os.close(fd)
            _hand_out(listening, asked)
        finally:
            os._exit(1)
    asked.close()
    listening.close()


def main() -> None:
    """Be a relay, until the worker hangs up or nobody listens any more. Nobody looks into it: what
    it uses is not counted as the code's.
    """
    program.set_dumpable(0)
    try:
        with socket.socket(socket.AF_UNIX) as giver:
            giver.connect(PLACE)
            while True:
                _receive_size(giver)
                giver.send(wire.READY)
                _serve(giver)
    except (OSError, EOFError):
        os._exit(0)


def _hand_out(listening: socket.socket, asked: socket.socket) -> None:
    relays: list[socket.socket] = []
    while True:
        connection, _ = listening.accept()
        with connection:
            _give(connection, asked, relays)


def _give(connection: socket.socket, asked: socket.socket, relays: list[socket.socket]) -> None:
    """Give it to a relay that wants one."""
    while True:
        for each in select.select([asked, *relays], [], [])[0]:
            if each is asked:
                relays.append(asked.accept()[0])
                continue
            try:
                if each.recv(1):
                    socket.send_fds(each, [wire.READY], [connection.fileno()])
                    return
            except OSError:
                pass
            relays.remove(each)  # it has gone
            each.close()


def _serve(giver: socket.socket) -> None:
    """Take one connection. Raises EOFError, OSError where this relay is of no more use."""
    ready, fds, _, _ = socket.recv_fds(giver, len(wire.READY), 1)
    if not fds:
        raise EOFError
    with socket.socket(fileno=fds[0]) as connection:
        wire.write_all(1, ready)
        outward = threading.Thread(target=_outward, args=(connection,))
        outward.start()
        _inward(connection, giver)
        outward.join()


def _inward(connection: socket.socket, giver: socket.socket) -> None:
    """From the worker, until he wants it closed. What the code does not take is lost."""
    while True:
        size = _receive_size(giver)
        data = b"" if size == CLOSE else wire.receive(0, size)
        try:
            if data:
                connection.sendall(data)
            else:
                connection.shutdown(socket.SHUT_RDWR if size == CLOSE else socket.SHUT_WR)
        except OSError:
            pass
        if size == CLOSE:
            return


def _receive_size(giver: socket.socket) -> int:
    """The next size from the worker. Raises EOFError where he has gone, or who listens has."""
    if giver.fileno() in select.select([0, giver.fileno()], [], [])[0]:
        raise EOFError
    return int.from_bytes(wire.receive(0, 4), "big")


def _outward(connection: socket.socket) -> None:
    """To the worker."""
    try:
        while data := _received(connection):
            wire.write_sized(1, data)
        wire.write_sized(1, b"")
    except OSError:
        os._exit(0)


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(PIECE_BYTES)
    except OSError:
        return b""
