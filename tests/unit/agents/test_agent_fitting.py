"""A conversation within the room that a model has."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agents.fitting import LEAST_ROOM, fitted, hopeless, room, size
from agents.ports import Bounds
from agents.prompting import prompt
from agents.trimming import shown


def conversation(sizes: list[tuple[int, int]]) -> list[AnyMessage]:
    """A task, and exchanges of so many characters of program and of output."""
    said: list[AnyMessage] = [HumanMessage("the task")]
    for place, (code, output) in enumerate(sizes):
        call = {"name": "python", "args": {"code": "x" * code}, "id": str(place)}
        said.append(AIMessage("", tool_calls=[{**call, "type": "tool_call"}]))
        said.append(ToolMessage("y" * output, tool_call_id=str(place)))
    return said


def test_where_there_is_room_it_is_what_every_model_sees() -> None:
    said = conversation([(2_000, 4_000)] * 30)
    assert fitted(said, shown(said, Bounds()), Bounds(), None) == shown(said, Bounds())
    assert fitted(said, shown(said, Bounds()), Bounds(), 400_000) == shown(said, Bounds())


def test_room_is_what_the_tokens_take_without_what_goes_along() -> None:
    assert room(10_000, 12_000, 6_000) == 24_000
    assert room(1_000, 4_000, 6_000) == LEAST_ROOM
    assert room(1_500, 3_000, 6_000) == 3_000


def test_it_is_asked_as_long_as_there_is_hope_and_by_the_strict_figure_where_it_cuts() -> None:
    prose = 20_000 + 2_000 + 6_738  # the longest task, the instructions, the tools
    assert not hopeless(prose, 8_192, cuts=False)
    assert hopeless(prose, 8_192, cuts=True)
    assert [hopeless(taken, 4_096, cuts=False) for taken in (20_484, 20_485)] == [False, True]
    assert [hopeless(taken, 4_096, cuts=True) for taken in (12_290, 12_291)] == [False, True]


def test_what_is_past_makes_room_for_the_conversation() -> None:
    earlier = [{"task": "earlier " * 2_500, "summary": "done " * 100}] * 3
    asked = prompt("task", task="the task", earlier=earlier, files=["a.csv"], clarified=[])
    said = [asked.message(), *conversation([(1_000, 2_000)] * 6)[1:]]
    given_ = fitted(said, shown(said, Bounds()), Bounds(), 20_000)
    assert size(given_) <= 20_000
    assert given_[0].text.endswith("The task:\n\nthe task")
    assert sum(isinstance(message, AIMessage) for message in given_) >= 5
    assert "earlier earlier" in given_[0].text


SIZES = st.lists(st.tuples(st.integers(0, 8_000), st.integers(0, 20_000)), max_size=30)


@given(sizes=SIZES, most=st.integers(20_000, 400_000))
@settings(max_examples=60, deadline=None)
def test_it_fits_and_stays_a_conversation(sizes: list[tuple[int, int]], most: int) -> None:
    said = conversation(sizes)
    given_ = fitted(said, shown(said, Bounds()), Bounds(), most)
    assert size(given_) <= most
    assert given_[0] == said[0]
    asked = [call["id"] for m in given_ if isinstance(m, AIMessage) for call in m.tool_calls]
    assert asked == [m.tool_call_id for m in given_ if isinstance(m, ToolMessage)]
    assert not sizes or asked[-1] == str(len(sizes) - 1)  # the latest is always there
