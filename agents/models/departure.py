"""How a recording says that a job went another way."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from agents.models.errors import RecordingDeparted
from agents.models.recording import RecordedTurn, Recording, bare
from agents.models.role import Role


def departed(recording: Recording, role: Role, text: str, after: int) -> RecordingDeparted:
    """The error for a question that no turn answers: what was asked, and the nearest turn."""
    lines = [
        f"recording {recording.name!r} has no answer for this request",
        f"role: {role}",
        f"after: {after} (the model's own messages in the request)",
        "asked:",
        *_indented(text),
    ]
    nearest = _nearest(recording, role, text, after)
    if nearest is None:
        return RecordingDeparted("\n".join([*lines, f"no turn of the recording is a {role}'s"]))
    number, turn = nearest
    place = "" if turn.after is None else f", after: {turn.after}"
    lines.append(f"nearest: turn {number} ({turn.match}{place})")
    return RecordingDeparted("\n".join([*lines, *_difference(turn, number, text)]))


def ambiguous(recording: Recording, role: Role, numbers: list[int]) -> RecordingDeparted:
    """The error for a question that several turns answer equally well."""
    turns = " and ".join(map(str, numbers))
    return RecordingDeparted(
        f"recording {recording.name!r}: turns {turns} answer the same request of the {role};"
        " tell them apart with `after`"
    )


def not_offered(
    recording: Recording, number: int, tool: str, offered: list[str]
) -> RecordingDeparted:
    """The error for a reply that calls a tool which the request does not offer."""
    return RecordingDeparted(
        f"recording {recording.name!r}: turn {number} calls {tool!r},"
        f" but the request offers {', '.join(offered) or 'no tools'}"
    )


def _nearest(
    recording: Recording, role: Role, text: str, after: int
) -> tuple[int, RecordedTurn] | None:
    candidates = [(i, turn) for i, turn in enumerate(recording.turns, 1) if turn.role == role]
    asked = bare(text)

    def likeness(candidate: tuple[int, RecordedTurn]) -> tuple[float, bool]:
        turn = candidate[1]
        same = difflib.SequenceMatcher(None, bare(turn.expect), asked, autojunk=False)
        return same.quick_ratio(), turn.after in {None, after}

    return max(candidates, key=likeness, default=None)


def _difference(turn: RecordedTurn, number: int, text: str) -> Iterator[str]:
    if turn.answers(text):
        yield "the text is the same, but its place is not: see `after`"
        return
    yield from difflib.unified_diff(
        bare(turn.expect).split("\n"),
        bare(text).split("\n"),
        f"turn {number}",
        "asked",
        lineterm="",
    )


def _indented(text: str) -> Iterator[str]:
    return (f"  {line}" for line in bare(text).split("\n"))
