"""Judges: from what was seen to a verdict. Pure."""

from __future__ import annotations

from drills.attacks.seen import Kind, Seen, Verdict

WORDS = 300


def reported(seen: Seen) -> Verdict:
    """The usual judge: what the probe said, what it left, whom it reached.

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
    return Verdict(Kind.HELD, evidence[:WORDS])


def reached(evidence: str) -> Verdict:
    """The sandbox did not hold."""
    return Verdict(Kind.REACHED, evidence[:WORDS])


def broken(evidence: str) -> Verdict:
    """The attack was not carried out as it was meant."""
    return Verdict(Kind.BROKEN, evidence[-WORDS:])


def _end(seen: Seen) -> str:
    result = seen.result
    how = result.exit_code if result.exit_code is not None else result.signal
    return f"{result.end} {'' if how is None else how} {result.stderr.text[-WORDS:]}".strip()
