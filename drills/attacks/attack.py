"""An attack, as data: what is tried, how it is seen, and how we know that we would see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from drills.attacks.judges import reported
from drills.attacks.seen import Seen, Verdict
from sandbox.protocol import End, Limits

if TYPE_CHECKING:
    from drills.attacks.scene import Scene

Given = Mapping[str, Any]
"""What a probe is told: plain JSON. `Ground.told` names what is always there."""

Probe = Callable[[dict[str, Any]], "str | None"]
"""Runs in the room, from its source alone. Returns evidence of reach in words, or None."""

Drive = Callable[["Scene"], Awaitable[Seen]]
Judge = Callable[[Seen], Verdict]

LIMITS = Limits(wall_seconds=20.0)
"""Roomier in time than a job's: what is tried is what the code may do, not how fast."""


@dataclass(frozen=True, slots=True)
class Bare:
    """The control runs as a plain process of this machine, bounded by the drill itself.

    `root`: with root's rights (as another user: root of a user namespace of its own); otherwise as
    a user who owns nothing. `host_root`: with root's rights on the whole machine, for which there
    is no stand-in: for a drill that is not root the attack is unproved. `as_drill`: as the drill's
    own user, whoever that is, for what reaches into its processes. `within`: options of
    `unshare`, for what the drill must plant first.
    """

    as_drill: bool = False
    root: bool = False
    host_root: bool = False
    within: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Raised:
    """The control runs on the same backend, with limits that allow what is tried."""

    limits: Limits


@dataclass(frozen=True, slots=True)
class Instead:
    """The control is another probe on the same backend, which does what must not be seen."""

    probe: Probe
    limits: Limits | None = None


Control = Bare | Raised | Instead


async def once(scene: Scene) -> Seen:
    """The usual drive: run the attack's probe one time."""
    return await scene.run()


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack. Its module's docstring says what it tries; its name is where it lies.

    `expects` says in words what must be seen instead. `ends` are the ends of a run that count as
    an answer where the probe itself did not live to give one. `alone`: nothing else may run
    meanwhile. `uses` are functions whose source the probe needs beside its own. `absent` says in
    words why this machine has no control for what is tried (None: it has), most often because it
    has nothing of the kind: the probe runs all the same, and is then unproved, with those words.
    """

    probe: Probe
    expects: str
    control: Control = field(default_factory=Bare)
    limits: Limits = LIMITS
    ends: frozenset[End] = frozenset()
    given: Given = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    stdin: bytes = b""
    uses: tuple[Callable[..., Any], ...] = ()
    drive: Drive = once
    judge: Judge = reported
    alone: bool = False
    absent: Callable[[], str | None] = lambda: None
