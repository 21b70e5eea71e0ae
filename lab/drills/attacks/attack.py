"""An attack, as data: what is tried, how it is seen, and how we know that we would see it.

Why: docs/decisions/0044-attacks-are-decorated-probes.md
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.protocol import End, Limits

from lab.drills.attacks.outcome import Observation, Verdict

Given = dict[str, Any]
"""What a probe is given: plain JSON. `HostEnvironment.facts` names what is always there."""

Probe = Callable[..., "str | None"]
"""Runs in the sandbox, from its source. Takes what it is given, or nothing; returns evidence of
reach in words, or None."""

Drive = Callable[[Any], Awaitable[Observation | Verdict]]
"""What the host does around the probe's runs; called with a `lab.drills.attacks.context.Context`. It
returns its verdict, or what is to be judged as usual (`judges.reported`)."""

LIMITS = Limits(wall_seconds=20.0)
"""More time than a job has: what is tried is what the code may do, not how fast."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The control runs as a plain process of this machine, bounded by the drill itself.

    `root`: with root's rights (as another user: root of a user namespace of its own); otherwise as
    a user who owns nothing. `host_root`: with root's rights on the whole machine, for which there
    is no stand-in: for a drill that is not root the attack is unproved. `as_drill`: as the drill's
    own user for what reaches into its processes. `unshare`: options of the
    program `unshare`, for what the drill must plant first.
    """

    as_drill: bool = False
    root: bool = False
    host_root: bool = False
    unshare: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Raised:
    """The control runs on the same backend, with limits that allow what is tried."""

    limits: Limits


@dataclass(frozen=True, slots=True)
class Instead:
    """The control is another probe on the same backend, which does what must not be seen."""

    probe: Probe
    limits: Limits | None = None


Control = Baseline | Raised | Instead


async def run_once(context: Any) -> Observation:
    """The usual drive: run the attack's probe one time."""
    observed: Observation = await context.run()
    return observed


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack; its name is its module's category and its own name there.

    `ends` are the ends of a run that count as an answer
    where the probe itself did not live to give one. `alone`: nothing else may run meanwhile.
    `absent` says why this machine has no control for what is tried (None: it has), most often
    because it has nothing of the kind: the probe runs all the same, and is then unproved, with that
    reason. `tries` says what it tries: the first line of the probe's docstring.
    """

    probe: Probe
    control: Control = field(default_factory=Baseline)
    limits: Limits = LIMITS
    ends: frozenset[End] = frozenset()
    given: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    stdin: bytes = b""
    drive: Drive = run_once
    alone: bool = False
    absent: Callable[[], str | None] = lambda: None
    tries: str = ""

    def __post_init__(self) -> None:
        if not self.tries:
            text = (self.probe.__doc__ or "").strip().partition("\n")[0]
            object.__setattr__(self, "tries", text)


def attack(**options: Any) -> Callable[[Probe], Attack]:
    """Make the decorated probe an attack; `options` are fields of `Attack`."""
    return lambda probe: Attack(probe, **options)
