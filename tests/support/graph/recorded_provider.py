"""The demo's recordings as a provider over HTTP, for the real client libraries.

Start it with `python -m lab.provider --script recorded_provider:play`, or as the ProviderServer of
a test.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from agents.recordings.recording import RecordedTurn, load
from lab.provider import Refusal, Reply, ToolCall, Turn
from lab.provider.request import Request

FOLDER = Path(__file__).resolve().parents[3] / "agents" / "recordings"


def play(request: Request) -> Turn:
    """The first turn of all recordings that matches the request."""
    role = {"Plan": "planner", "Verdict": "critic"}.get(request.forced_tool or "", "executor")
    for turn in turns():
        after = turn.after in {None, request.replies_so_far}
        if turn.role == role and after and turn.answers(request.last_text):
            calls = tuple(ToolCall(call.name, call.args) for call in turn.reply.tool_calls)
            return Reply(turn.reply.content, calls)
    return Refusal(400, f"no recording goes on from: {request.last_text[:500]}")


def refuse(_request: Request) -> Turn:
    """The reply to an unknown key."""
    return Refusal(401, "Invalid API Key")


@cache
def turns() -> list[RecordedTurn]:
    """All turns; exact matches and turns with a position come first."""
    names = sorted(path.stem for path in FOLDER.glob("demo-*.yaml"))
    all_turns = [turn for name in names for turn in load(FOLDER, name).turns]
    return sorted(all_turns, key=lambda turn: (turn.match != "exact", turn.after is None))
