"""Sends every signal that can be caught to the room's agent and its init."""

from __future__ import annotations

import signal

from drills.attacks.attack import Attack, Baseline
from drills.attacks.drives import survived
from drills.attacks.judges import ended
from drills.attacks.protocol.agent_killed import probe
from sandbox.protocol import End, Limits

NOT = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}

ATTACK = Attack(
    probe,
    expects="the room is dead or answers; nothing of it is left; the next run is as usual",
    limits=Limits(wall_seconds=5.0),
    given={"signals": sorted({int(number) for number in signal.valid_signals() - NOT})},
    drive=survived,
    judge=ended({End.KILLED, End.EXITED, End.SIGNALED, End.TIMEOUT}),
    control=Baseline(as_drill=True),
)
