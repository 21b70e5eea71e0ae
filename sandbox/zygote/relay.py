"""Takes connections to a port of a container to the worker: by relays, over streams of the engine.

Only streams lead out of a container. So a process that the agent forks listens on the port
(`listen`). A relay (`main`) is a process that the worker starts in the container. It asks the
listener for a connection, copies between the connection and its own standard streams, and then asks
for the next connection.

These pieces (as of `wire.write_sized`) go over the streams, for each connection in turn:

    worker -> relay    an empty piece: take a connection. Then pieces for the connection; an empty
                       piece after the last of them; CLOSE in place of a size closes the connection
    relay -> worker    `wire.READY` when there is a connection. Then its pieces, and an empty piece
                       at its end

A relay is not a child of the agent, and Landlock may keep the agent from signalling it. So a relay
ends when the listener ends, and the agent kills the listener at the end of the run.
"""

from __future__ import annotations

import os
import select
import socket
import threading

from sandbox.agent import code_process, wire

LISTENER_PATH = "/run/relays"
"""The socket on which relays ask the listener for connections."""
PIECE_BYTES = 1 << 16
CLOSE = (1 << 32) - 1
_BACKLOG = 64
"""Connections that no relay has taken yet; and waiting relays."""


def listen(port: int, control: tuple[int, int]) -> None:
    """Fork a process that listens on the port, without the agent's `control` descriptors."""
    relay_socket = socket.socket(socket.AF_UNIX)
    relay_socket.bind(LISTENER_PATH)
    relay_socket.listen(_BACKLOG)
    port_socket = socket.create_server(("127.0.0.1", port), backlog=_BACKLOG)
    if os.fork() == 0:
        try:
            for fd in control:
                os.close(fd)
            _distribute_connections(port_socket, relay_socket)
        finally:
            os._exit(1)
    relay_socket.close()
    port_socket.close()


def main() -> None:
    """Run a relay until the worker or the listener has closed its end. The process is not dumpable,
    and its resources are not counted as the code's.
    """
    code_process.set_dumpable(0)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.connect(LISTENER_PATH)
            while True:
                _receive_size(listener)
                listener.send(wire.READY)
                _relay_connection(listener)
    except (OSError, EOFError):
        os._exit(0)


def _distribute_connections(port_socket: socket.socket, relay_socket: socket.socket) -> None:
    relays: list[socket.socket] = []
    while True:
        connection, _ = port_socket.accept()
        with connection:
            _give_to_relay(connection, relay_socket, relays)


def _give_to_relay(
    connection: socket.socket, relay_socket: socket.socket, relays: list[socket.socket]
) -> None:
    """Give the connection to the first relay that asks for one."""
    while True:
        for ready_socket in select.select([relay_socket, *relays], [], [])[0]:
            if ready_socket is relay_socket:
                relays.append(relay_socket.accept()[0])
                continue
            try:
                if ready_socket.recv(1):
                    socket.send_fds(ready_socket, [wire.READY], [connection.fileno()])
                    return
            except OSError:
                pass
            relays.remove(ready_socket)  # the relay has ended
            ready_socket.close()


def _relay_connection(listener: socket.socket) -> None:
    """Take one connection and copy its data. Raises EOFError, OSError if the relay must end."""
    ready, fds, _, _ = socket.recv_fds(listener, len(wire.READY), 1)
    if not fds:
        raise EOFError
    with socket.socket(fileno=fds[0]) as connection:
        wire.write_all(1, ready)
        to_worker = threading.Thread(target=_copy_to_worker, args=(connection,))
        to_worker.start()
        _copy_from_worker(connection, listener)
        to_worker.join()


def _copy_from_worker(connection: socket.socket, listener: socket.socket) -> None:
    """Copy the worker's data until the worker closes the connection. Data that the code does not
    take is lost."""
    while True:
        size = _receive_size(listener)
        data = b"" if size == CLOSE else wire.receive_bytes(0, size)
        try:
            if data:
                connection.sendall(data)
            else:
                connection.shutdown(socket.SHUT_RDWR if size == CLOSE else socket.SHUT_WR)
        except OSError:
            pass
        if size == CLOSE:
            return


def _receive_size(listener: socket.socket) -> int:
    """The next size from the worker. Raises EOFError if the worker or the listener has ended."""
    if listener.fileno() in select.select([0, listener.fileno()], [], [])[0]:
        raise EOFError
    return int.from_bytes(wire.receive_bytes(0, 4), "big")


def _copy_to_worker(connection: socket.socket) -> None:
    try:
        while data := _receive(connection):
            wire.write_sized(1, data)
        wire.write_sized(1, b"")
    except OSError:
        os._exit(0)


def _receive(connection: socket.socket) -> bytes:
    """The next data of the code; empty at the end of the connection, or if it is broken."""
    try:
        return connection.recv(PIECE_BYTES)
    except OSError:
        return b""
