"""What was seen of an attack, and what is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sandbox.protocol import End, RunResult


@dataclass(frozen=True, slots=True)
class Report:
    """What the probe itself said at its end. Both None: it came to its end and reached nothing.

    `broken` is the exception that it did not expect.
    """

    reached: str | None = None
    broken: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """One attack as seen from the host."""

    result: RunResult
    report: Report | None
    """None: the probe gave no report (it was ended, or its output was)."""
    seconds: float
    """From the order to the answer, on the host's clock."""
    ends: frozenset[End] = frozenset()
    """Those that the attack takes for an answer."""
    left: tuple[str, ...] = ()
    """Processes of the run that lived on after its answer."""
    contacts: tuple[str, ...] = ()
    """What arrived at the canary servers with the run's mark."""


class Kind(StrEnum):
    """What came of one attack on one backend."""

    HELD = "held"
    UNPROVED = "unproved"
    """The probe reached nothing, and there is no control on this machine to show that we would have
    noticed: it has not what is tried, or it takes root. Neither a failure nor a proof."""
    REACHED = "reached"
    """The sandbox did not hold."""
    BLIND = "blind"
    """The control reached nothing: the probe would not notice success. Nothing is proved."""
    BROKEN = "broken"
    """The attack could not be carried out. Nothing is proved."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A kind, and the evidence for it."""

    kind: Kind
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One attack on one backend. `control` says what the control reached."""

    name: str
    backend: str
    verdict: Verdict
    seconds: float
    control: str = ""

    @property
    def held(self) -> bool:
        """Whether the sandbox held, and the control shows that we would have noticed."""
        return self.verdict.kind is Kind.HELD

    @property
    def failed(self) -> bool:
        """Whether it did not hold, or went wrong."""
        return self.verdict.kind not in {Kind.HELD, Kind.UNPROVED}
