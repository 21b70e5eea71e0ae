"""Scripts: functions from a request to the provider's turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lab.provider.request import Request
from lab.provider.turn import Refusal, Reply, Turn

Script = Callable[[Request], Turn]


def always(turn: Turn) -> Script:
    """A script that gives every request the same turn."""
    return lambda _request: turn


def in_order(turns: Iterable[Turn]) -> Script:
    """A script that gives the turns in the order of the requests.

    A request after the last turn gets status 400, which no client retries: the test fails at once
    with the reason.
    """
    remaining_turns = iter(turns)
    over = Refusal(400, "the script has no more turns")
    return lambda _request: next(remaining_turns, over)


def as_script(script: Script | Sequence[Turn]) -> Script:
    """The given script, or one that plays the given turns in order."""
    return script if callable(script) else in_order(script)


def echo(request: Request) -> Turn:
    """Reply with the last message's text, the default of `-m lab.provider`."""
    return Reply(request.last_text)
