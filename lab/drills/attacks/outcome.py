"""The observation of an attack, and its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sandbox.protocol import End, RunResult


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What the probe itself said at its end. Both None: it came to its end and reached nothing.

    `broken` is the exception that it did not expect.
    """

    reached: str | None = None
    broken: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """One attack as seen from the host."""

    result: RunResult
    report: ProbeReport | None
    """None: the probe gave no report (it was ended, or its output was)."""
    seconds: float
    """From the order to the answer, on the host's clock."""
    ends: frozenset[End] = frozenset()
    """Those that the attack takes for an answer."""
    survivors: tuple[str, ...] = ()
    """Processes of the run that lived on after its answer."""
    contacts: tuple[str, ...] = ()
    """What arrived at the canary servers with the run's mark."""


class VerdictKind(StrEnum):
    """What came of one attack on one backend."""

    HELD = "held"
    UNPROVED = "unproved"
    """The probe reached nothing, and there is no control on this machine to prove the judgement:
    the machine lacks the attacked feature, or the control needs root. Neither a failure nor a
    proof."""
    REACHED = "reached"
    """The sandbox did not hold."""
    BLIND = "blind"
    """The control did not reach anything: the probe would not notice success. The attack proves no
    protection."""
    BROKEN = "broken"
    """The attack could not be carried out. It proves no protection."""


@dataclass(frozen=True, slots=True)
class AttackVerdict:
    """A kind, and the evidence for it."""

    kind: VerdictKind
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class AttackOutcome:
    """One attack on one backend. `control` is the evidence of the control."""

    name: str
    backend: str
    verdict: AttackVerdict
    seconds: float
    control: str = ""

    @property
    def is_held(self) -> bool:
        """Whether the sandbox held, and the control shows that we would have noticed."""
        return self.verdict.kind is VerdictKind.HELD

    @property
    def failed(self) -> bool:
        """Whether it did not hold, or went wrong."""
        return self.verdict.kind not in {VerdictKind.HELD, VerdictKind.UNPROVED}
