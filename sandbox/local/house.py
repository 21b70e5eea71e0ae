"""House: what bubblewrap builds once for many rooms, and the nursery in it: command lines. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.policy import (
    ROOM_NOTHING,
    ROOM_NOWHERE,
    ROOM_SOURCE,
    RUN_BYTES,
    UID,
    Ground,
    Stock,
    environment,
)


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Open file descriptors that bubblewrap inherits, by what they are for."""

    control: int
    info: int
    texts: Mapping[str, int]
    """Files of the house, by path, each to be read from its descriptor."""


def house(ground: Ground, given: Descriptors, stock: Stock) -> list[str]:
    """bubblewrap's command line for a house and the nursery in it, with its `stock` loaded.

    Two things of bubblewrap's are not used, because the rooms are made inside: `--disable-userns`
    (each room forbids itself further namespaces, and is refused them by its filter too), and the
    masks over `/proc` (the kernel lets nobody mount a fresh `/proc` who sees a masked one only).
    Both are put up in every room; nothing of a job runs outside of one.
    """
    env = environment(ground)
    return [
        ground.bwrap,
        *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--uid", str(UID), "--gid", str(UID), "--hostname", "house"),
        # The nursery is the first process of its pid namespace: with it the kernel ends all rooms.
        *("--cap-drop", "ALL", "--new-session", "--die-with-parent", "--as-pid-1"),
        *("--info-fd", str(given.info)),
        *(word for name, value in env.items() for word in ("--setenv", name, value)),
        # What a library calls is looked up once, and not in each copy that is the first to call it.
        *("--setenv", "LD_BIND_NOW", "1"),
        *(word for tree in ground.trees for word in ("--ro-bind", tree.source, tree.at)),
        *(word for target, at in ground.links for word in ("--symlink", target, at)),
        *("--proc", "/proc", "--dev", "/dev", "--dir", "/run", "--dir", "/work"),
        # The nursery's own, for matplotlib's list of fonts; each room's lies over it.
        *("--perms", "1777", "--size", str(RUN_BYTES), "--tmpfs", "/tmp"),  # noqa: S108
        *(word for at, fd in given.texts.items() for word in _text(at, fd)),
        *("--perms", "0000", "--dir", ROOM_NOWHERE),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"),
        *nursery(ground, given.control, stock),
    ]


def nursery(ground: Ground, control: int, stock: Stock) -> list[str]:
    """The command line of the nursery, which talks with the supervisor over the socket `control`.

    Its flags and its environment are those of an interpreter that runs code: rooms are copies.
    """
    start = (
        f"import sys; sys.path.insert(0, {ROOM_SOURCE!r}); "
        "from sandbox.room.interpreter import stage; from sandbox.room.nursery import main; "
        f"stage(lambda: main({control}, {stock.value!r}))"
    )
    return [ground.python, "-P", "-c", start]


def _text(at: str, fd: int) -> tuple[str, ...]:
    return ("--perms", "0000" if at == ROOM_NOTHING else "0644", "--file", str(fd), at)
