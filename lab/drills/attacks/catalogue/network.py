"""A run reaches an address beyond its own loopback."""

from __future__ import annotations

import array
import asyncio
import contextlib
import ctypes
import fcntl
import itertools
import os
import socket
import stat
import struct
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lab.drills.attacks.attack import Attack, BaselineControl, Inputs, attack
from lab.drills.attacks.context import Context
from lab.drills.attacks.environment.netspace import ACKNOWLEDGE, CREATE, ask, attribute
from lab.drills.attacks.outcome import Observation
from lab.drills.attacks.probes.primitives import allowed, apart, attempt, call, read

OWN_NETWORK = BaselineControl(root=True, unshare=("--net",))
USUAL_FAMILIES = {1, 2, 10, 16}
"""Unix, IPv4, IPv6, netlink."""
TRANSPORTS = {"DCCP": 33, "L2TP": 115, "SCTP": 132, "UDP-Lite": 136, "SMC": 256, "MPTCP": 262}
PROTOCOLS = Path("/proc/net/protocols")


def stream(address: Any, mark: str) -> str | None:
    """Connect by TCP and send the mark; returns the address and the number of received bytes, or
    None.
    """
    try:
        with socket.create_connection(tuple(address), 2) as link:
            link.sendall(mark.encode())
            return f"{address[0]} answered {len(link.recv(100))} bytes"
    except OSError:
        return None


def unix_stream(address: str, mark: str) -> str | None:
    """Connect by a unix socket."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(2)
        try:
            link.connect(address)
            link.sendall(mark.encode())
            return f"{address!r} answered {len(link.recv(100))} bytes"
        except OSError:
            return None


def datagram(family: int, address: Any, data: bytes, connected: bool = False) -> str | None:
    """Send a datagram by UDP, with or without a connection; returns the address and the number of
    received bytes, or None.
    """
    with socket.socket(family, socket.SOCK_DGRAM) as link:
        link.settimeout(0.5)
        try:
            if connected:
                link.connect(tuple(address))
                link.send(data)
            else:
                link.sendto(data, tuple(address))
            return f"{address[0]} answered {len(link.recv(100))} bytes"
        except OSError:
            return None


def links_out() -> list[str]:
    """The interfaces that lead out: all except loopback."""
    return [name for _, name in socket.if_nameindex() if name != "lo"]


@attack()
def loopback_tcp(inputs: Inputs) -> str | None:
    """Connects to servers on the host's loopback, by every name of it: TCP, IPv4."""
    port = inputs["servers"]["tcp"][1]
    hosts = ("127.0.0.1", "localhost", "127.0.0.2", "0.0.0.0")
    answers = (stream((host, port), inputs["mark"]) for host in hosts)
    return next(filter(None, answers), None)


@attack()
def loopback_udp(inputs: Inputs) -> str | None:
    """Sends datagrams to servers on the host's loopback: UDP, with or without a connection."""
    port, data = inputs["servers"]["udp"][1], inputs["mark"].encode()
    for host in ("127.0.0.1", "127.0.0.2"):
        for connected in (False, True):
            if answer := datagram(socket.AF_INET, (host, port), data, connected):
                return answer
    return None


@attack()
def loopback_ipv6(inputs: Inputs) -> str | None:
    """Connects to servers on the host's loopback by IPv6, and by IPv4 addresses in IPv6 form."""
    mark, servers = inputs["mark"], inputs["servers"]
    dressed = ("::ffff:127.0.0.1", servers["tcp"][1])
    for address in (tuple(servers.get("tcp6", dressed)[:2]), dressed):
        if answer := stream(address, mark):
            return answer
    try:
        return datagram(socket.AF_INET6, (dressed[0], servers["udp"][1]), mark.encode())
    except OSError:  # on a machine without IPv6
        return None


@attack()
def stand_ins(inputs: Inputs) -> str | None:
    """Connects to a host of the LAN and to the cloud's metadata address (local substitutes for
    both)."""
    # Interfaces that lead out are reported before any byte is sent: if the drill could not make its
    # own network, the substitutes' addresses would be addresses of strangers.
    if not inputs["enclosed"]:
        return f"interfaces that lead out: {interfaces}" if (interfaces := links_out()) else None
    servers = (inputs["servers"].get(name) for name in ("lan", "metadata", "lan6"))
    answers = (stream(address[:2], inputs["mark"]) for address in servers if address)
    return next(filter(None, answers), None)


@attack()
def lan_datagrams(inputs: Inputs) -> str | None:
    """Sends datagrams to a host of the LAN and to its name server (local substitutes for both)."""
    if not inputs["enclosed"]:  # the substitutes' addresses would be strangers' addresses
        return f"interfaces that lead out: {interfaces}" if (interfaces := links_out()) else None
    for name in ("lan_udp", "dns"):
        address = inputs["servers"][name]
        if answer := datagram(socket.AF_INET, address, inputs["mark"].encode()):
            return f"{name}: {answer}"
    return None


@attack()
def names(inputs: Inputs) -> str | None:
    """Looks up a name, to send data to the server that answers: DNS."""
    name = f"{inputs['mark']}.example"
    if inputs["enclosed"]:
        labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
        question = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, 1, 1)
        if answer := datagram(socket.AF_INET, inputs["servers"]["dns"], question):
            return f"a name server: {answer}"
    if interfaces := links_out():  # if the resolver may ask any server, no name is looked up
        return f"a name server could be reached by {interfaces}"
    started = time.monotonic()
    try:
        return f"{name} is {socket.getaddrinfo(name, 80)[0][4]}"
    except OSError:
        seconds = time.monotonic() - started
    return f"it took {seconds:.1f} s to hear that there is none" if seconds > 2 else None


@attack()
def abstract_sockets(inputs: Inputs) -> str | None:
    """Connects to unix sockets of the host that have a name but no file: abstract sockets."""
    servers = inputs["servers"]
    if answer := unix_stream(servers["abstract"], inputs["mark"]):
        return answer
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as loose:
        sent = allowed(loose.sendto, inputs["mark"].encode(), servers["abstract_datagram"])
    return "a datagram was taken" if sent else None


@attack()
def path_sockets(inputs: Inputs) -> str | None:
    """Connects to unix sockets of the host that have a path: the canary's, an engine's, a bus's."""
    path = inputs["servers"]["unix"]
    for path_variant in (path, f"/proc/1/root{path}", f"/proc/{os.getppid()}/root{path}"):
        if answer := unix_stream(path_variant, inputs["mark"]):
            return answer
    # Other sockets are searched by name, and never used: in a control they belong to other users.
    known_paths = [
        "/var/run/docker.sock",
        "/run/containerd/containerd.sock",
        "/run/systemd/private",
    ]
    walks = itertools.chain(*map(os.walk, ("/run", "/tmp", "/var", "/work", "/home")))
    paths = (f"{folder}/{name}" for folder, _, files in walks for name in files)
    for socket_path in itertools.chain(known_paths, itertools.islice(paths, 5_000)):
        status = attempt(os.lstat, socket_path)
        if status and stat.S_ISSOCK(status.st_mode):
            return f"there is a socket {socket_path}"
    return None


@attack()
def passed_descriptors() -> str | None:
    """Uses descriptors that it inherited: sockets that could pass on descriptors of the host."""
    opened = []
    for number in map(int, os.listdir("/proc/self/fd")):
        status, leads = (attempt(os.fstat, number), attempt(os.readlink, f"/proc/self/fd/{number}"))
        if status is None:
            continue  # the descriptor of the listing itself
        if stat.S_ISSOCK(status.st_mode):
            with socket.socket(fileno=os.dup(number)) as link:
                flags = socket.MSG_DONTWAIT | socket.MSG_PEEK
                space = socket.CMSG_SPACE(64 * array.array("i").itemsize)
                message = attempt(link.recvmsg, 1, space, flags)
            opened.append(
                f"socket {number}, with {len(message[1]) if message else 0} messages of rights"
            )
        elif number > 2:
            opened.append(f"{number}: {leads}")
    return ", ".join(opened) or None


@attack()
def proc_net(inputs: Inputs) -> str | None:
    """Looks through `/proc/net` for sockets and links of the host."""
    servers = inputs["servers"]
    traces = {
        "tcp": f":{servers['tcp'][1]:04X} ",
        "udp": f":{servers['udp'][1]:04X} ",
        "unix": servers["abstract"].replace("\0", "@"),
        "dev": " lan0:",
    }
    for folder in ("/proc/net", "/proc/1/net", f"/proc/{os.getppid()}/net"):
        for name, trace in traces.items():
            if trace.encode() in (read(f"{folder}/{name}") or b""):
                return f"{folder}/{name} shows {trace.strip()}"
    return None


def no_ipv6_links() -> str | None:
    addresses = Path("/proc/net/if_inet6")
    rows = addresses.read_text().splitlines() if addresses.exists() else []
    return None if any(row.split()[5] != "lo" for row in rows) else "it has no links with IPv6"


@attack(absent=no_ipv6_links)
def ipv6_neighbours() -> str | None:
    """Looks for neighbours by IPv6, which needs no address: link-local, all nodes of a link."""
    neighbours = []
    # A link with an address of its own has neighbours who answer to "all nodes" (ff02::1). No
    # datagram is sent: on a foreign link it would reach strangers.
    for name, link in (("if_inet6", 5), ("ipv6_route", 9)):
        rows = [line.split() for line in (read(f"/proc/net/{name}") or b"").decode().splitlines()]
        neighbours += [f"{row[0]} on {row[link]}" for row in rows if row[link] != "lo"]
    return f"addresses and routes: {', '.join(neighbours)}" if neighbours else None


async def knock_at_its_port(context: Context) -> Observation:
    """Connect to the probe's port repeatedly while the run lasts."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    run = asyncio.ensure_future(context.run(inputs={"port": port}))
    while not run.done():
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(context.mark.encode())
            writer.close()
        await asyncio.sleep(0.05)
    return await run


@attack(drive=knock_at_its_port)
def sandbox_as_server(inputs: Inputs) -> str | None:
    """Listens on a port, for a client from the host: a way out that is opened from outside."""
    listen_address = "0.0.0.0" if inputs["enclosed"] else "127.0.0.1"
    with socket.create_server((listen_address, inputs["port"])) as server:
        server.settimeout(2)
        try:
            peer, address = server.accept()
        except OSError:
            return None
        with peer:
            peer.settimeout(1)
            return f"{address[0]} came and sent {len(peer.recv(100))} bytes"


@attack(control=OWN_NETWORK)
def other_namespaces(inputs: Inputs) -> str | None:
    """Enters the network of another process by its `/proc/PID/ns/net`, and connects from there."""

    def enter(space: int) -> int:
        if call("setns", space, 0x40000000) < 0:
            return 0
        return 2 if stream(("127.0.0.1", inputs["servers"]["tcp"][1]), inputs["mark"]) else 1

    for pid in dict.fromkeys((inputs["pid"], os.getppid(), 1, os.getpid())):
        space = attempt(os.open, f"/proc/{pid}/ns/net", os.O_RDONLY)
        entered = space is not None and apart(enter, space)
        if entered:
            return f"the network of process {pid}" + " and its host's loopback" * (entered == 2)
    return None


@attack(control=OWN_NETWORK)
def netlink_changes() -> str | None:
    """Changes its network: an address, a route, a link and its state (rtnetlink, ioctl)."""

    def change(word: int, body: bytes, flags: int = CREATE) -> bool:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as route:
            return allowed(ask, route, word, body, flags)

    address_bytes = socket.inet_aton("198.51.100.1")  # a block of addresses for documentation
    lo = socket.if_nametoindex("lo")
    address = (
        struct.pack("=BBBBI", 2, 32, 0, 0, lo)
        + attribute(1, address_bytes)
        + attribute(2, address_bytes)
    )
    route = struct.pack("=8BI", 2, 32, 0, 0, 254, 4, 253, 1, 0) + attribute(1, address_bytes)
    route += attribute(4, struct.pack("=i", lo))
    link = struct.pack("=BxHiII", 0, 0, 0, 0, 0) + attribute(3, b"out0\0")
    link += attribute(18, attribute(1, b"dummy"))
    requests = {"an address": (20, address), "a route": (24, route), "a link": (16, link)}
    passed = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loose:
        state: Any = attempt(
            fcntl.ioctl, loose, 0x8913, struct.pack("=16sH14x", b"lo", 0)
        )  # its flags
        if state is not None:
            up = struct.pack("=16sH14x", b"lo", struct.unpack_from("=H", state, 16)[0] | 1)
            passed += ["a link's state"] if allowed(fcntl.ioctl, loose, 0x8914, up) else []
    for name, (word, body) in requests.items():
        if attempt(change, word, body):
            passed.append(name)
            attempt(change, word + 1, body, ACKNOWLEDGE)  # removes the address again
    return f"it could set {', '.join(passed)}" if passed else None


def can_make_socket(family: int, kind: int, protocol: int = 0, pair: bool = False) -> bool:
    """Whether a socket, or a pair, of this kind can be made; it is closed again."""
    sockets = attempt(socket.socketpair if pair else socket.socket, family, kind, protocol)
    for one_socket in sockets if isinstance(sockets, tuple) else (sockets,):
        if one_socket is not None:
            one_socket.close()
    return sockets is not None


@attack(control=OWN_NETWORK)
def packet_sockets() -> str | None:
    """Receives all frames of the network, and writes its own frames: packet sockets."""
    for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
        if can_make_socket(socket.AF_PACKET, kind) or can_make_socket(
            socket.AF_PACKET, kind, 0x0300
        ):  # ETH_P_ALL
            return f"a packet socket, {kind.name}"
    return None


@attack(control=OWN_NETWORK)
def raw_sockets() -> str | None:
    """Builds packets itself: raw sockets of IPv4 and IPv6."""
    for family in (socket.AF_INET, socket.AF_INET6):
        for protocol in (socket.IPPROTO_RAW, socket.IPPROTO_ICMP, socket.IPPROTO_UDP, 58):
            if can_make_socket(family, socket.SOCK_RAW, protocol):
                return f"a raw socket of {family.name}, protocol {protocol}"
    return None


async def one_that_is_there(context: Context) -> Observation:
    """All families except 0, the routes, which programs need. A control loads no unused part of the
    kernel: it uses the families that every kernel has (device events, generic).
    """
    protocols = [15, 16] if context.is_control else [*range(1, 32)]
    return await context.run(inputs={"protocols": protocols})


@attack(drive=one_that_is_there)
def netlink_families(inputs: Inputs) -> str | None:
    """Uses netlink to other parts of the kernel: audit, firewall, IPsec, device events."""
    kind = socket.SOCK_RAW
    allowed_families = [
        str(protocol)
        for protocol in inputs["protocols"]
        if can_make_socket(socket.AF_NETLINK, kind, protocol)
    ]
    return (
        f"netlink sockets of families {', '.join(allowed_families)}" if allowed_families else None
    )


def unloaded(*words: str) -> str | None:
    """The reason if the kernel has not loaded these sockets: a control loads no unused part."""
    rows = PROTOCOLS.read_text().splitlines() if PROTOCOLS.exists() else []
    if any(row.startswith(words) for row in rows):
        return None
    return f"its kernel has no sockets of {', '.join(words)} loaded"


async def transports_that_are_there(context: Context) -> Observation:
    """A control loads no unused transport: it uses the available transports."""
    available = {name: number for name, number in TRANSPORTS.items() if unloaded(name) is None}
    return await context.run(inputs={"protocols": available if context.is_control else TRANSPORTS})


@attack(drive=transports_that_are_there, absent=partial(unloaded, *TRANSPORTS))
def transports(inputs: Inputs) -> str | None:
    """Requests the rarer transports of the internet families: MPTCP, SCTP, DCCP, UDP-Lite, L2TP."""
    kinds = (1, 2, 5, 6)  # stream, datagram, sequenced packets, DCCP's own type
    socket_types = [
        (family, kind) for family in (socket.AF_INET, socket.AF_INET6) for kind in kinds
    ]
    protocols = inputs["protocols"].items()
    allowed_protocols = [
        name
        for name, protocol in protocols
        if any(can_make_socket(*socket_type, protocol) for socket_type in socket_types)
    ]
    return f"sockets of {', '.join(allowed_protocols)}" if allowed_protocols else None


def of_families(inputs: Inputs) -> str | None:
    """Requests a socket of every family in `inputs`, of any type."""
    socket_types = [(kind, pair) for kind in (1, 2, 3, 5) for pair in (False, True)]
    families = inputs["families"].items()
    allowed_families = [
        name
        for name, family in families
        if any(can_make_socket(family, kind, 0, pair) for kind, pair in socket_types)
    ]
    return f"sockets of {', '.join(allowed_families)}" if allowed_families else None


def family(name: str, number: int, word: str, tries: str) -> Attack:
    """An attack that requests sockets of one family; `word` is its start in /proc/net/protocols."""
    return Attack(
        of_families,
        inputs={"families": {name: number}},
        control=OWN_NETWORK,
        absent=partial(unloaded, word),
        tries=tries,
    )


vsock = family(
    "AF_VSOCK", 40, "AF_VSOCK", "Speaks to the hypervisor, past every network namespace: vsock."
)
crypto_sockets = family(
    "AF_ALG", 38, "ALG", "Uses the kernel's ciphers, a part with a history of holes: AF_ALG."
)
express_data_path = family(
    "AF_XDP", 44, "XDP", "Takes packets from a network card's own queues: AF_XDP."
)


async def every_family(context: Context) -> Observation:
    """A control loads no unused family: it uses an available family."""
    families = {str(family): family for family in range(1, 48) if family not in USUAL_FAMILIES}
    return await context.run(inputs={} if context.is_control else {"families": families})


socket_families = replace(
    family(
        "17",
        socket.AF_PACKET,
        "PACKET",
        "Asks for a socket of every family there ever was: bluetooth, CAN, TIPC, RDS, X.25.",
    ),
    drive=every_family,
)


@attack(control=OWN_NETWORK)
def socket_options() -> str | None:
    """Sets socket options that only the owner of a network may set: marks, repair, a device."""
    force_buffer, mark, transparent, repair = 33, 36, 19, 19
    options = {
        "SO_MARK": (socket.SOL_SOCKET, mark, 7),
        "SO_RCVBUFFORCE": (socket.SOL_SOCKET, force_buffer, 1 << 26),
        "SO_PRIORITY": (socket.SOL_SOCKET, socket.SO_PRIORITY, 7),
        "IP_TRANSPARENT": (socket.IPPROTO_IP, transparent, 1),
        "TCP_REPAIR": (socket.IPPROTO_TCP, repair, 1),
    }
    passed = []
    for name, words in options.items():
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as link:
            passed += [name] if allowed(link.setsockopt, *words) else []
    for name in links_out():
        device = (socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name.encode() + b"\0")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loose:
            passed += [f"SO_BINDTODEVICE to {name}"] if allowed(loose.setsockopt, *device) else []
    return ", ".join(passed) or None


@attack()
def io_uring_socket() -> str | None:
    """Gets a socket that the filter refuses through a ring of io_uring, which no filter sees."""
    ring = apart(call, "io_uring_setup", 2, ctypes.create_string_buffer(120)) or 0
    return "a ring, which makes sockets of any family" if ring > 0 else None
