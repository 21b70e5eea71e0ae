"""The base container: what bubblewrap builds once for many sandboxes; command lines. Pure.

Why: docs/decisions/0007-container-worker.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.policy import (
    AGENT_NOTHING,
    AGENT_NOWHERE,
    AGENT_ROOT,
    RUN_BYTES,
    SCRIPTS,
    UID,
    HostEnvironment,
    environment,
)


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Open file descriptors that bubblewrap inherits, by what they are for."""

    control: int
    info: int
    texts: Mapping[str, int]
    """Files of the base container, by path, each to be read from its descriptor."""


def command(host_env: HostEnvironment, given: Descriptors, *, libraries: bool) -> list[str]:
    """bubblewrap's command line for a base container and the zygote in it, which has the usual
    `libraries` loaded or not.

    Two things of bubblewrap's are not used, because sandboxes are made inside: `--disable-userns`
    (each forbids itself further namespaces, and is refused them by its filter too), and the masks
    over `/proc` (the kernel lets nobody mount a fresh `/proc` who sees a masked one only). Both are
    put up in every sandbox; nothing of a job runs outside of one.
    """
    env = environment(host_env)
    return [
        host_env.bwrap,
        *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--uid", str(UID), "--gid", str(UID), "--hostname", "base"),
        # The zygote is the first process of its pid namespace: with it the kernel ends all
        # sandboxes.
        *("--cap-drop", "ALL", "--new-session", "--die-with-parent", "--as-pid-1"),
        *("--info-fd", str(given.info)),
        *(word for name, value in env.items() for word in ("--setenv", name, value)),
        *(word for tree in host_env.trees for word in ("--ro-bind", tree.source, tree.at)),
        *(word for target, at in host_env.links for word in ("--symlink", target, at)),
        *("--proc", "/proc", "--dev", "/dev", "--dir", "/run", "--dir", "/work"),
        *(("--ro-bind", layers.source, layers.at) if (layers := host_env.layers) else ()),
        # The zygote's own, for matplotlib's list of fonts; each sandbox's lies over it.
        *("--perms", "1777", "--size", str(RUN_BYTES), "--tmpfs", "/tmp"),  # noqa: S108
        *(word for at, fd in given.texts.items() for word in _text(at, fd)),
        *("--perms", "0000", "--dir", AGENT_NOWHERE),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"),
        *_zygote(host_env, given.control, libraries=libraries),
    ]


def _zygote(host_env: HostEnvironment, control: int, *, libraries: bool) -> list[str]:
    """The command line of the zygote, which talks with the supervisor over the socket `control`.

    Its flags and its environment are those of an interpreter that runs code: sandboxes are copies.
    """
    start = (
        f"import sys; sys.path.insert(0, {AGENT_ROOT!r}); "
        "from sandbox.zygote.interpreter import trampoline; "
        "from sandbox.zygote.server import main; "
        f"trampoline(lambda: main({control}, libraries={libraries}))"
    )
    return [host_env.python, "-P", "-c", start]


def _text(at: str, fd: int) -> tuple[str, ...]:
    mode = "0755" if at.startswith(f"{SCRIPTS}/") else "0644"
    return ("--perms", "0000" if at == AGENT_NOTHING else mode, "--file", str(fd), at)
