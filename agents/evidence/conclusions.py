"""What experiments show of a verification: why it is no evidence, and facts that weaken it. Pure.

It is no evidence if it passes although none of the files can load that it has to exercise.
Everything else is a note, and leaves the judgement to the critic and to people.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from agents.evidence.record import Experiment

PASSES_BEFORE = "The verification passes without the change, too."


def no_evidence(
    command: str, alone: Sequence[str], made: Sequence[Experiment], written: Collection[str]
) -> str | None:
    """Why the verification is no evidence, or None. `alone` are the files that it has to exercise,
    and `written` are those that it writes itself."""
    tried = _unloadable(made)
    passed = {path for each in tried if each["still_green"] for path in each["replaced"]}
    if not alone or not passed.issuperset(alone) or any(map(_failed, tried)):
        return None
    if written:
        return (
            f"the verification `{command}` writes {', '.join(sorted(written))} itself, so it shows"
            " nothing about the files that are delivered: verify them with another command"
        )
    return (
        f"the verification `{command}` still passes when {', '.join(alone)} cannot be loaded, so it"
        f" does not show that {'it works' if len(alone) == 1 else 'they work'}: verify a command"
        " that runs the work, such as tests that import it"
    )


def notes_on(
    made: Sequence[Experiment], untried: Sequence[str], *, same_behaviour: bool = False
) -> Iterator[str]:
    """Facts that weaken the evidence. `same_behaviour`: the job is to change no behaviour."""
    if not same_behaviour and any(each["still_green"] for each in made if each["kind"] == "before"):
        yield PASSES_BEFORE
    unnoticed = [
        each["replaced"][0]
        for each in _unloadable(made)
        if each["still_green"] and len(each["replaced"]) == 1
    ]
    if unnoticed:
        yield (
            f"The verification does not exercise {', '.join(unnoticed)}: it passes although"
            f" {'the file' if len(unnoticed) == 1 else 'each of them'} cannot be loaded."
        )
    for each in made:
        if each["undecided"]:
            state = "as before the job" if each["kind"] == "before" else "unable to load"
            files = ", ".join(each["replaced"])
            yield f"With {files} {state}, a limit ended the verification, so this shows nothing."
    if untried:
        yield f"No time was left to try {', '.join(untried)} unable to load."


def _unloadable(made: Sequence[Experiment]) -> list[Experiment]:
    return [each for each in made if each["kind"] == "unloadable"]


def _failed(each: Experiment) -> bool:
    """Whether an experiment shows that the verification exercises the files."""
    return not (each["still_green"] or each["undecided"])
