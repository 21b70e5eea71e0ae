"""How a recording says that a job went another way."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import islice, zip_longest

from agents.models.errors import RecordingDeparted
from agents.models.recording import RecordedTurn, Recording, bare
from agents.models.request import RecordedRequest
from agents.models.role import Role

MOST_LINES = 60
MOST_CHARACTERS = 300


def departed(
    recording: Recording, role: Role, asked: RecordedRequest, after: int
) -> RecordingDeparted:
    """The error for a question that no turn answers: what was asked, and the nearest turn."""
    text = asked.texts[-1][1]
    lines = [
        f"recording {recording.name!r} has no answer for this request",
        f"role: {role}",
        f"after: {after} (the model's own messages in the request)",
    ]
    nearest = _nearest(recording, role, asked, after)
    if nearest is None:
        none = f"no turn of the recording is a {role}'s"
        return RecordingDeparted("\n".join([*lines, "asked:", *_indented(text), none]))
    number, turn = nearest
    if turn.request is not None and recording.strict:
        lines.append(f"recorded: turn {number}")
        return RecordingDeparted("\n".join([*lines, *_first_difference(turn.request, asked)]))
    place = "" if turn.after is None else f", after: {turn.after}"
    lines += ["asked:", *_indented(text), f"nearest: turn {number} ({turn.match}{place})"]
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
    recording: Recording, role: Role, asked: RecordedRequest, after: int
) -> tuple[int, RecordedTurn] | None:
    """The most alike; of a strict recording one at the same place, if there is any."""
    candidates = [(i, turn) for i, turn in enumerate(recording.turns, 1) if turn.role == role]
    text = bare(asked.texts[-1][1])

    def likeness(candidate: tuple[int, RecordedTurn]) -> tuple[bool, float, bool]:
        turn = candidate[1]
        same = difflib.SequenceMatcher(None, bare(turn.question), text, autojunk=False)
        placed = turn.after in {None, after}
        return turn.request is not None and placed, same.quick_ratio(), placed

    return max(candidates, key=likeness, default=None)


def _first_difference(recorded: RecordedRequest, asked: RecordedRequest) -> Iterator[str]:
    """What differs between two whole requests: the first message, the tools, or what is before."""
    for number, (old, new) in enumerate(
        zip_longest(recorded.texts, asked.texts, fillvalue=None), 1
    ):
        if old != new:
            who, was = old or ("nothing", "")
            speaker, now = new or ("nothing", "")
            yield f"message {number} differs:"
            yield from _bounded(_unified(was, now, f"recorded ({who})", f"asked ({speaker})"))
            return
    if recorded.tools != asked.tools:
        yield f"tools differ: recorded {list(recorded.tools)}, asked {list(asked.tools)}"
        return
    yield "an earlier message of the conversation differs; those shown by this turn are the same"


def _unified(old: str, new: str, was: str, now: str) -> Iterator[str]:
    return difflib.unified_diff(old.split("\n"), new.split("\n"), was, now, lineterm="")


def _bounded(lines: Iterator[str]) -> Iterator[str]:
    """A difference that a job's record can hold; where it begins is what matters."""
    for line in islice(lines, MOST_LINES):
        yield line if len(line) <= MOST_CHARACTERS else line[:MOST_CHARACTERS] + " ..."
    if next(lines, None) is not None:
        yield "..."


def _difference(turn: RecordedTurn, number: int, text: str) -> Iterator[str]:
    if turn.answers(text):
        yield "the text is the same, but its place is not: see `after`"
        return
    yield from _unified(bare(turn.question), bare(text), f"turn {number}", "asked")


def _indented(text: str) -> Iterator[str]:
    return (f"  {line}" for line in bare(text).split("\n"))
