"""The report of a suite's outcomes: rows for a table, one object for machines. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cli.render.texts import printable
from lab.drills.attacks.outcome import AttackOutcome, VerdictKind

HEADS = ("BACKEND", "CATEGORY", "HELD", "UNPROVED", "REACHED", "BLIND", "BROKEN", "SECONDS")

LOOK_AT = {
    VerdictKind.REACHED: "the sandbox did not hold: see what the attack tries",
    VerdictKind.BLIND: "its control reached nothing, so nothing is proved: see its control",
    VerdictKind.BROKEN: "it could not be carried out, so nothing is proved: see the error",
}


def rows(outcomes: Iterable[AttackOutcome]) -> Iterator[tuple[str, ...]]:
    """A row for each backend and category, in the outcomes' order."""
    groups: dict[tuple[str, str], list[AttackOutcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.backend, outcome.name.partition("/")[0]), []).append(outcome)
    for (backend, category), outcomes_of_group in groups.items():
        counts = [
            sum(outcome.verdict.kind is kind for outcome in outcomes_of_group)
            for kind in VerdictKind
        ]
        seconds = sum(outcome.seconds for outcome in outcomes_of_group)
        yield (backend, category, *map(str, counts), f"{seconds:.1f}")


def failures(outcomes: Iterable[AttackOutcome]) -> Iterator[str]:
    """The attacks that failed, each with its evidence and the place to check."""
    for outcome in outcomes:
        if outcome.failed:
            kind = outcome.verdict.kind
            category, _, name = outcome.name.partition("/")
            evidence = printed(outcome.verdict.evidence)
            yield (
                f"{outcome.name} on {outcome.backend}: {kind}: {evidence}\n"
                f"    {name} in lab/drills/attacks/catalogue/{category}: {LOOK_AT[kind]}"
            )


def printed(text: str) -> str:
    """Evidence, which may be text from a sandbox, on one line and harmless on a terminal."""
    return printable(" ".join(text.split()))


def summary(outcomes: Sequence[AttackOutcome]) -> dict[str, Any]:
    """The object for machines. `tried` counts each attack once for each backend, without those that
    are `unproved`: they prove neither result, and have a key of their own.
    """
    tried = [outcome for outcome in outcomes if outcome.verdict.kind is not VerdictKind.UNPROVED]
    return {
        "attacks": len({outcome.name for outcome in outcomes}),
        "backends": list(dict.fromkeys(outcome.backend for outcome in outcomes)),
        "tried": len(tried),
        "held": sum(outcome.is_held for outcome in tried),
        "failed": [_outcome_name(outcome) for outcome in tried if outcome.failed],
        "unproved": [
            _outcome_name(outcome)
            for outcome in outcomes
            if outcome.verdict.kind is VerdictKind.UNPROVED
        ],
    }


def last_line(outcomes: Sequence[AttackOutcome]) -> str:
    """The summary for people."""
    counted = summary(outcomes)
    words = f"{counted['held']} of {counted['tried']} held, on {', '.join(counted['backends'])}"
    unproved = counted["unproved"]
    if unproved:
        words += f"; {len(unproved)} not proved on this machine: {', '.join(unproved)}"
    return words


def _outcome_name(outcome: AttackOutcome) -> str:
    return f"{outcome.name}@{outcome.backend}"


def passed(outcomes: Sequence[AttackOutcome]) -> bool:
    """Whether at least one attack proved protection, and none failed."""
    return any(outcome.is_held for outcome in outcomes) and not any(
        outcome.failed for outcome in outcomes
    )
