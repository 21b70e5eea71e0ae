"""The report of a suite's outcomes: rows for a table, one object for machines. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cli.render.texts import printable

from lab.drills.attacks.outcome import Kind, Outcome

HEADS = (
    "BACKEND",
    "CATEGORY",
    "HELD",
    "UNPROVED",
    "REACHED",
    "BLIND",
    "BROKEN",
    "SECONDS",
)

LOOK_AT = {
    Kind.REACHED: "the sandbox did not hold: see what the attack tries",
    Kind.BLIND: "its control reached nothing, so nothing is proved: see its control",
    Kind.BROKEN: "it could not be carried out, so nothing is proved: see the error",
}


def rows(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, ...]]:
    """A row for each backend and category, in the outcomes' order."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for each in outcomes:
        groups.setdefault((each.backend, each.name.partition("/")[0]), []).append(each)
    for (backend, category), found in groups.items():
        counts = [sum(each.verdict.kind is kind for each in found) for kind in Kind]
        seconds = sum(each.seconds for each in found)
        yield (backend, category, *map(str, counts), f"{seconds:.1f}")


def failures(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Those that did not hold, each with its evidence and what to look at."""
    for each in outcomes:
        if each.failed:
            kind = each.verdict.kind
            category, _, name = each.name.partition("/")
            yield (
                f"{each.name} on {each.backend}: {kind}: {printed(each.verdict.evidence)}\n"
                f"    {name} in lab/drills/attacks/catalogue/{category}: {LOOK_AT[kind]}"
            )


def printed(text: str) -> str:
    """Evidence, which may be text from a sandbox, on one line and harmless on a terminal."""
    return printable(" ".join(text.split()))


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The object for machines. `tried` counts each attack once for each backend, without those that
    are `unproved`: they say nothing, and stand by themselves.
    """
    tried = [each for each in outcomes if each.verdict.kind is not Kind.UNPROVED]
    return {
        "attacks": len({each.name for each in outcomes}),
        "backends": list(dict.fromkeys(each.backend for each in outcomes)),
        "tried": len(tried),
        "held": sum(each.held for each in tried),
        "failed": [_place(each) for each in tried if each.failed],
        "unproved": [
            _place(each) for each in outcomes if each.verdict.kind is Kind.UNPROVED
        ],
    }


def last_line(outcomes: Sequence[Outcome]) -> str:
    """The summary for people."""
    counted = summary(outcomes)
    words = f"{counted['held']} of {counted['tried']} held, on {', '.join(counted['backends'])}"
    unproved = counted["unproved"]
    if unproved:
        words += f"; {len(unproved)} not proved on this machine: {', '.join(unproved)}"
    return words


def _place(outcome: Outcome) -> str:
    return f"{outcome.name}@{outcome.backend}"


def passed(outcomes: Sequence[Outcome]) -> bool:
    """Whether something was proved, and nothing failed."""
    return any(each.held for each in outcomes) and not any(
        each.failed for each in outcomes
    )
