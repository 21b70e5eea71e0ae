"""Judges: from what was seen to a verdict. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection

from drills.attacks.outcome import Kind, Observation, Verdict
from sandbox.protocol import End

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


def answered(
    end: End, code: int | None = None, *, within: float = 15.0
) -> Callable[[Observation], Verdict]:
    """A judge of robustness: the run must end as `end` (with exit code `code`), within seconds, and
    leave nothing. Anything else is reach: the code has made the sandbox do what it should not.
    """

    def judge(seen: Observation) -> Verdict:
        result = seen.result
        if seen.left:
            return reached(f"it lived on after the run: {', '.join(seen.left)}")
        if not seen.notes.get("after", True):
            return reached("the run after it did not end as it should")
        if (result.end, result.exit_code) != (end, code):
            return reached(f"it ended as {_end(seen)}, not as {end} {code}")
        if seen.seconds > within:
            return reached(f"the answer took {seen.seconds:.1f} s")
        return held(f"it ended as {result.end} after {seen.seconds:.1f} s")

    return judge


def ended(ends: Collection[End], *, within: float = 20.0) -> Callable[[Observation], Verdict]:
    """A judge of blows against the sandbox: it may end in one of these ways, within seconds;
    nothing of it is left, and the next run is as usual.
    """

    def judge(seen: Observation) -> Verdict:
        if seen.left:
            return reached(f"it lived on after the run: {', '.join(seen.left)}")
        if not seen.notes.get("after", True):
            return reached("the run after it did not end as it should")
        if seen.result.end not in ends or seen.seconds > within:
            return reached(f"it ended as {_end(seen)} after {seen.seconds:.1f} s")
        return held(f"it ended as {seen.result.end} after {seen.seconds:.1f} s")

    return judge
