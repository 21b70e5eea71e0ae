"""The observation of an attack, and its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sandbox.protocol import End, RunResult


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """The probe's own report at its end. If both fields are None, the probe reached its end without
    a success. `broken` is an exception that the probe did not expect.
    """

    reached: str | None = None
    broken: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """One attack as the host observed it."""

    result: RunResult
    report: ProbeReport | None
    """None: the probe gave no report (the probe or its output was ended)."""
    seconds: float
    """Seconds from the order to the answer, on the host's clock."""
    ends: frozenset[End] = frozenset()
    """The ends of a run that count as an answer for this attack."""
    survivors: tuple[str, ...] = ()
    """Processes of the run that outlived its answer."""
    contacts: tuple[str, ...] = ()
    """The messages with the run's mark that the canary servers received."""


class VerdictKind(StrEnum):
    """The result of one attack on one backend."""

    HELD = "held"
    UNPROVED = "unproved"
    """The probe reached nothing, and there is no control on this machine to prove the judgement:
    the machine lacks the attacked feature, or the control needs root. Neither a failure nor a
    proof."""
    REACHED = "reached"
    """The sandbox did not withstand the attack."""
    BLIND = "blind"
    """The control did not succeed: the probe would not notice a success. The attack proves no
    protection.
    """
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
        """Whether the sandbox withstood the attack, and the control shows that a success would be
        noticed.
        """
        return self.verdict.kind is VerdictKind.HELD

    @property
    def failed(self) -> bool:
        """Whether the sandbox did not withstand the attack, or the attack went wrong."""
        return self.verdict.kind not in {VerdictKind.HELD, VerdictKind.UNPROVED}
