"""Judges: from what was seen to a verdict. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sandbox.protocol import End

from lab.drills.attacks.outcome import Kind, Observation, Verdict

MOST_LETTERS = 300


def reported(seen: Observation) -> Verdict:
    """The usual judge: what the probe said, what it left running, what it reached.

    A probe that gave no report has proved nothing, unless its run met an end that the attack names.
    """
    if seen.contacts:
        return reached(f"a canary server heard it: {seen.contacts[0]}")
    if seen.left:
        return reached(f"it lived on after the run: {', '.join(seen.left)}")
    if seen.report is None:
        if seen.result.end in seen.ends:
            return held(f"the run was ended: {seen.result.end}")
        return broken(f"no report, the run's end: {_end(seen)}")
    if seen.report.broken is not None:
        return broken(seen.report.broken)
    if seen.report.reached is not None:
        return reached(seen.report.reached)
    return held()


def held(evidence: str = "") -> Verdict:
    """The sandbox held."""
    return Verdict(Kind.HELD, evidence[:MOST_LETTERS])


def reached(evidence: str) -> Verdict:
    """The sandbox did not hold."""
    return Verdict(Kind.REACHED, evidence[:MOST_LETTERS])


def broken(evidence: str) -> Verdict:
    """The attack was not carried out as it was meant."""
    return Verdict(Kind.BROKEN, evidence[-MOST_LETTERS:])


def _end(seen: Observation) -> str:
    result = seen.result
    how = result.exit_code if result.exit_code is not None else result.signal
    return f"{result.end} {'' if how is None else how} {result.stderr.text[-MOST_LETTERS:]}".strip()


def judged(seen: Observation, faults: Iterable[str]) -> Verdict:
    """Reach where the drive has found a fault; else what the probe has reported."""
    found = "; ".join(faults)
    return reached(found) if found else reported(seen)


def survived(
    seen: Observation,
    next_run_is_fine: bool,
    ends: Collection[End],
    code: int | None = None,
    within: float = 15.0,
) -> Verdict:
    """Judges blows against the sandbox: the run must end in one of these ways (with this exit code,
    if one is given), within seconds, and leave nothing; the next run is as usual. Anything else is
    reach: the code has made the sandbox do what it should not.
    """
    if seen.left:
        return reached(f"it lived on after the run: {', '.join(seen.left)}")
    if not next_run_is_fine:
        return reached("the run after it did not end as it should")
    if seen.result.end not in ends or code not in {None, seen.result.exit_code}:
        return reached(f"it ended as {_end(seen)}")
    if seen.seconds > within:
        return reached(f"the answer took {seen.seconds:.1f} s")
    return held(f"it ended as {seen.result.end} after {seen.seconds:.1f} s")
