"""An attack as data: the probe, the judgement of its success, and the control that proves the
judgement.

See ADR 44.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.drills.attacks.outcome import AttackVerdict, Observation
from sandbox.protocol import End, Limits

Inputs = dict[str, Any]
"""The inputs of a probe: plain JSON. `HostEnvironment.facts` names the inputs of every probe."""

Probe = Callable[..., "str | None"]
"""A function that runs in the sandbox, from its source. It takes the inputs, or no argument, and
returns its evidence of a success in words, or None.
"""

Drive = Callable[[Any], Awaitable[Observation | AttackVerdict]]
"""The actions of the host around the probe's runs, called with a
`lab.drills.attacks.context.Context`. A drive returns its verdict, or an observation for the usual
judge (`judges.reported`).
"""

LIMITS = Limits(wall_seconds=20.0)
"""The limits of a run, with more time than a job has, because an attack tests permissions and not
speed.
"""


@dataclass(frozen=True, slots=True)
class BaselineControl:
    """The control runs as a plain process of this machine, bounded by the drill itself.

    `root`: with root's rights (as another user: root of a user namespace of its own); otherwise as
    a user who owns nothing. `host_root`: with root's rights on the whole machine, without a
    substitute: if the drill is not root, the attack is unproved. `as_drill`: as the drill's own
    user for what reaches into its processes. `unshare`: options of the program `unshare`, for
    things that the drill must plant first.
    """

    as_drill: bool = False
    root: bool = False
    host_root: bool = False
    unshare: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RaisedLimits:
    """The control runs on the same backend, with limits that allow the attack."""

    limits: Limits


@dataclass(frozen=True, slots=True)
class OtherProbe:
    """The control is another probe on the same backend, which shows the effect that an attack must
    not have."""

    probe: Probe
    limits: Limits | None = None


Control = BaselineControl | RaisedLimits | OtherProbe


async def run_once(context: Any) -> Observation:
    """The usual drive: run the attack's probe once."""
    observed: Observation = await context.run()
    return observed


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack; its name is its module's category and its own name there.

    `ends` are the ends of a run that count as an answer if the probe itself was killed. `alone`: no
    other attack may run at the same time. `absent` returns the reason why this machine has no
    control for the attack (None: it has a control), most often because it lacks the attacked
    feature. The probe runs in any case, and is then unproved, with that reason. `tries` describes
    the attack: by default the first line of the probe's docstring.
    """

    probe: Probe
    control: Control = field(default_factory=BaselineControl)
    limits: Limits = LIMITS
    ends: frozenset[End] = frozenset()
    inputs: Mapping[str, Any] = field(default_factory=dict)
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
