"""Who decides what the local provider answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from benchmarks.provider.request import Request
from benchmarks.provider.turn import Refusal, Reply, Turn

Script = Callable[[Request], Turn]


def always(turn: Turn) -> Script:
    """A script that answers every request alike."""
    return lambda _request: turn


def in_order(turns: Iterable[Turn]) -> Script:
    """A script that gives the turns in the order of the requests.

    A request beyond the last turn gets status 400, which no client tries again: the test that
    asked too often fails at once and says why.
    """
    rest = iter(turns)
    over = Refusal(400, "the script has no more turns")
    return lambda _request: next(rest, over)


def as_script(script: Script | Sequence[Turn]) -> Script:
    """The given script, or one that plays the given turns in order."""
    return script if callable(script) else in_order(script)


def echo(request: Request) -> Turn:
    """Answers with the last message's text: what `-m benchmarks.provider` does by default."""
    return Reply(request.last_text)
