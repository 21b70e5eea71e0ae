"""What of a long history a model gets to see again."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agents.context.trimming import KEPT_OUTPUTS, LEAST_CHARACTERS, without_old_output

STEP = 10_000
SIZES = st.lists(st.lists(st.integers(0, 4_000), min_size=1, max_size=3), min_size=1, max_size=40)


def conversation(sizes: list[list[int]]) -> list[AnyMessage]:
    """A task, and a reply for each of `sizes` whose tool calls gave as many characters."""
    said: list[AnyMessage] = [HumanMessage("the task")]
    for reply, outputs in enumerate(sizes):
        calls = [
            {"name": "python", "args": {}, "id": f"{reply}.{i}", "type": "tool_call"}
            for i in range(len(outputs))
        ]
        said.append(AIMessage("", tool_calls=calls))
        said += [
            ToolMessage("x" * size, tool_call_id=call["id"])
            for size, call in zip(outputs, calls, strict=True)
        ]
    return said


def requests(said: list[AnyMessage], step: int | None = STEP) -> list[list[str]]:
    """The texts of each request that led to this conversation, and of the next one."""
    ends = [place for place, message in enumerate(said) if isinstance(message, AIMessage)]
    return [
        [str(m.text) for m in without_old_output(said[:end], step)] for end in [*ends, len(said)]
    ]


def test_old_output_goes_and_says_how_long_it_was_and_how_it_began() -> None:
    said = conversation([[4_000]] * 6)
    said[2] = ToolMessage("first line\nsecond line " + "x" * 4_000, tool_call_id="0.0")
    shown = without_old_output(said, STEP)
    assert "4,023 characters, left out" in str(shown[2].text)
    assert "first line" in str(shown[2].text)
    assert isinstance(shown[2], ToolMessage)
    assert shown[2].tool_call_id == "0.0"
    assert [m for m in shown if not isinstance(m, ToolMessage)] == [
        m for m in said if not isinstance(m, ToolMessage)
    ]
    assert shown[-2] == said[-2]
    assert said[2].text != shown[2].text  # the conversation itself is untouched


def test_the_prompt_changes_in_rare_steps_only() -> None:
    made = requests(conversation([[3_000]] * 60))
    kept = [later[: len(request)] == request for request, later in pairwise(made)]
    assert kept.count(False) <= 60 * 3_000 / STEP


@given(SIZES)
def test_a_request_repeats_no_more_old_output_than_a_step(sizes: list[list[int]]) -> None:
    for request in requests(conversation(sizes)):
        whole = [text for text in request if text.startswith("x") and len(text) > LEAST_CHARACTERS]
        assert sum(map(len, whole[:-KEPT_OUTPUTS])) < STEP


@given(SIZES)
def test_what_is_left_out_stays_out_and_the_latest_stays_in(sizes: list[list[int]]) -> None:
    said = conversation(sizes)
    made = requests(said)
    for request, later in pairwise(made):
        for before, after in zip(request, later, strict=False):
            assert after == before or after.startswith("[")
    whole = [str(m.text) for m in said]
    assert made[-1][-1] == whole[-1]
    assert all(len(a) <= len(b) for a, b in zip(made[-1], whole, strict=True))
