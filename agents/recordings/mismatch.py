"""The errors of a job that differs from its recording."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import islice, zip_longest

from agents.errors import RecordingMismatch
from agents.ports import Role
from agents.recordings.recording import RecordedTurn, Recording, stripped
from agents.recordings.request import RecordedRequest

MOST_LINES = 60
MOST_CHARACTERS = 300


def no_matching_turn(
    recording: Recording, role: Role, request: RecordedRequest, after: int
) -> RecordingMismatch:
    """The error for a request that no turn answers: its difference from the most similar turn of
    this role."""
    lines = [
        f"recording {recording.name!r} has no answer for this request",
        f"role: {role}",
        f"after: {after} (the model's own messages in the request)",
    ]
    differences = [
        _difference(turn, number, request, recording)
        for number, turn in enumerate(recording.turns, 1)
        if turn.role == role
    ]
    nearest = min(differences, key=len, default=None)
    if nearest is None:
        nearest = [*_request_lines(request), f"no turn of the recording is a {role}'s"]
    return RecordingMismatch("\n".join([*lines, *nearest]))


def ambiguous(recording: Recording, role: Role, numbers: list[int]) -> RecordingMismatch:
    """The error for a request that several turns match equally well."""
    turns = " and ".join(map(str, numbers))
    return RecordingMismatch(
        f"recording {recording.name!r}: turns {turns} answer the same request of the {role};"
        " distinguish them with `after`"
    )


def not_offered(
    recording: Recording, number: int, tool: str, offered: list[str]
) -> RecordingMismatch:
    """The error for a reply that calls a tool which the request does not offer."""
    return RecordingMismatch(
        f"recording {recording.name!r}: turn {number} calls {tool!r},"
        f" but the request offers {', '.join(offered) or 'no tools'}"
    )


def _difference(
    turn: RecordedTurn, number: int, requested: RecordedRequest, recording: Recording
) -> list[str]:
    if turn.request is not None and recording.strict:
        return [f"recorded: turn {number}", *_first_difference(turn.request, requested)]
    position = "" if turn.after is None else f", after: {turn.after}"
    lines = [*_request_lines(requested), f"nearest: turn {number} ({turn.match}{position})"]
    text = requested.texts[-1][1]
    if turn.answers(text):
        return [*lines, "the text is the same, but its position is not: see `after`"]
    return [*lines, *_unified(stripped(turn.question), stripped(text), f"turn {number}", "asked")]


def _first_difference(recorded: RecordedRequest, request: RecordedRequest) -> Iterator[str]:
    """The first difference of two full requests: a message, the tools, or the earlier messages."""
    pairs = zip_longest(recorded.texts, request.texts, fillvalue=("nothing", ""))
    for number, ((recorded_speaker, recorded_text), (speaker, text)) in enumerate(pairs, 1):
        if (recorded_speaker, recorded_text) != (speaker, text):
            yield f"message {number} differs:"
            yield from _unified(
                recorded_text, text, f"recorded ({recorded_speaker})", f"asked ({speaker})"
            )
            return
    if recorded.tools != request.tools:
        yield f"tools differ: recorded {list(recorded.tools)}, asked {list(request.tools)}"
        return
    yield "an earlier message of the conversation differs; those shown by this turn are the same"


def _unified(old: str, new: str, was: str, now: str) -> Iterator[str]:
    """A diff that fits into a job's record; its beginning matters most."""
    lines = difflib.unified_diff(old.split("\n"), new.split("\n"), was, now, lineterm="")
    for line in islice(lines, MOST_LINES):
        yield line if len(line) <= MOST_CHARACTERS else line[:MOST_CHARACTERS] + " ..."
    if next(lines, None) is not None:
        yield "..."


def _request_lines(request: RecordedRequest) -> list[str]:
    text = request.texts[-1][1]
    return ["asked:", *(f"  {line}" for line in stripped(text).split("\n"))]
