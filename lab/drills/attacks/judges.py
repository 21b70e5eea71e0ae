"""Judges turn an observation into a verdict. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lab.drills.attacks.outcome import AttackVerdict, Observation, VerdictKind
from sandbox.protocol import End

MOST_LETTERS = 300


def reported(observation: Observation) -> AttackVerdict:
    """The usual judge: by the probe's report, its surviving processes, and its contacts.

    A probe that gave no report has proved nothing, unless its run met an end that the attack names.
    """
    if observation.contacts:
        return reached(f"a canary server heard it: {observation.contacts[0]}")
    if observation.survivors:
        return reached(f"it lived on after the run: {', '.join(observation.survivors)}")
    if observation.report is None:
        if observation.result.end in observation.ends:
            return held_verdict(f"the run was ended: {observation.result.end}")
        return broken(f"no report, the run's end: {_end(observation)}")
    if observation.report.broken is not None:
        return broken(observation.report.broken)
    if observation.report.reached is not None:
        return reached(observation.report.reached)
    return held_verdict()


def held_verdict(evidence: str = "") -> AttackVerdict:
    """The sandbox withstood the attack."""
    return AttackVerdict(VerdictKind.HELD, evidence[:MOST_LETTERS])


def reached(evidence: str) -> AttackVerdict:
    """The sandbox did not withstand the attack."""
    return AttackVerdict(VerdictKind.REACHED, evidence[:MOST_LETTERS])


def broken(evidence: str) -> AttackVerdict:
    """The attack was not carried out as intended."""
    return AttackVerdict(VerdictKind.BROKEN, evidence[-MOST_LETTERS:])


def _end(observation: Observation) -> str:
    result = observation.result
    code = result.exit_code if result.exit_code is not None else result.signal
    return (
        f"{result.end} {'' if code is None else code} {result.stderr.text[-MOST_LETTERS:]}".strip()
    )


def judged(observation: Observation, faults: Iterable[str]) -> AttackVerdict:
    """`reached` if the drive found a fault; otherwise the verdict on the probe's report."""
    faults_text = "; ".join(faults)
    return reached(faults_text) if faults_text else reported(observation)


def survived(
    observation: Observation,
    next_run_is_fine: bool,
    ends: Collection[End],
    code: int | None = None,
    within: float = 15.0,
) -> AttackVerdict:
    """Judge an attack against the sandbox itself: the run must end in one of these ways (with this
    exit code, if there is one), within these seconds, and leave nothing behind; the next run must
    be normal. Anything else is a success of the attack: the code made the sandbox misbehave.
    """
    if observation.survivors:
        return reached(f"it lived on after the run: {', '.join(observation.survivors)}")
    if not next_run_is_fine:
        return reached("the run after it did not end as it should")
    if observation.result.end not in ends or code not in {None, observation.result.exit_code}:
        return reached(f"it ended as {_end(observation)}")
    if observation.seconds > within:
        return reached(f"the answer took {observation.seconds:.1f} s")
    return held_verdict(f"it ended as {observation.result.end} after {observation.seconds:.1f} s")
