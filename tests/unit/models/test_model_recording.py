from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool

from agents.errors import ModelNotConfigured
from agents.models.build import build
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.ports import Role
from agents.ports.spending import Usage
from agents.recordings.recorded_model import RecordedModel
from agents.recordings.recording import load

SORTING = """
about: Written by hand for this test. No provider was called.
turns:
  - role: planner
    expect: |
      Plan: sort a list.

      Keep it short.
    reply:
      content: one step
      usage: {input_tokens: 30, output_tokens: 4, cached_input_tokens: 10}
  - role: executor
    expect: |
      Do it.
    reply:
      content: on my way
      tool_calls:
        - name: python
          args: {code: "print(sorted([2, 1]))"}
  - role: executor
    match: contains
    expect: "[1, 2]"
    reply:
      content: sorted
  - role: executor
    expect: go on
    reply: {content: anywhere}
  - role: executor
    expect: go on
    after: 1
    reply: {content: second}
  - role: executor
    match: contains
    expect: go on
    reply: {content: loose}
  - role: critic
    expect: judge
    after: 0
    reply: {content: approve}
  - role: critic
    match: contains
    expect: left
    reply: {content: a}
  - role: critic
    match: contains
    expect: right
    reply: {content: b}
"""


@tool
def python(code: str) -> str:
    """Runs code."""
    return code


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "sorting.yaml").write_text(SORTING)
    return tmp_path


def model(directory: Path, role: Role) -> RecordedModel:
    built = build(ModelName.parse("recording:sorting"), ModelOptions(recordings=directory), role)
    assert isinstance(built, RecordedModel)
    return built


def say(directory: Path, role: Role, *messages: BaseMessage | str) -> AIMessage:
    request = [
        HumanMessage(message) if isinstance(message, str) else message for message in messages
    ]
    return model(directory, role).bind_tools([python]).invoke(request)


def test_a_turn_is_selected_by_role_and_text(directory: Path) -> None:
    reply = say(
        directory, "planner", SystemMessage("be good"), "Plan: sort a list.\n\nKeep it short."
    )
    assert reply.text == "one step"
    assert reply.response_metadata["finish_reason"] == "stop"
    assert Usage.of(reply) == Usage(30, 4, 10)


def test_tool_calls_have_equal_ids_in_every_process(directory: Path) -> None:
    first, again = (say(directory, "executor", "Do it.") for _ in range(2))
    assert first.tool_calls[0]["name"] == "python"
    assert first.tool_calls[0]["args"] == {"code": "print(sorted([2, 1]))"}
    assert first.tool_calls[0]["id"] == again.tool_calls[0]["id"]
    second = say(directory, "executor", SystemMessage("another job"), "Do it.")
    assert second.tool_calls[0]["id"] != first.tool_calls[0]["id"]


def with_arguments(args: str) -> str:
    """A recording of one tool call with these arguments."""
    call = f"{{name: python, args: {args}}}"
    return f"about: x\nturns:\n- {{role: critic, expect: x, reply: {{tool_calls: [{call}]}}}}\n"


def test_an_unknown_recording_names_the_known_ones(directory: Path) -> None:
    with pytest.raises(ModelNotConfigured, match=r"no recording 'sorted' .* there are sorting"):
        load(directory, "sorted")
    with pytest.raises(ModelNotConfigured, match="there are none"):
        load(directory / "away", "sorting")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "turns: Field required"),
        ("about: x\nturns: [{role: judge, expect: x, reply: {content: y}}]", "turns.0.role"),
        ("about: x\nturns: [{role: critic, expect: x, reply: {}}]", "content, tool_calls or both"),
        ("about: !!python/object/apply:os.getcwd []\nturns: []", "python/object/apply"),
        ("about: !!python/name:os.system\nturns: []", "python/name"),
        (with_arguments("{day: 2026-01-01}"), "args.day"),
        (with_arguments("{data: !!binary YQ==}"), "args.data"),
        (with_arguments("{names: !!set {a}}"), "args.names"),
        (with_arguments("&a {again: *a}"), "aliases repeat"),
        (
            "about: x\nturns: []\nbomb:\n- &a0 x\n"
            + "".join(f"- &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60)),
            "aliases repeat",
        ),
        ("about: 2026-99-99\nturns: []", "is no recording"),
        ("about: x\nturns: " + "[" * 5_000, "is no recording"),
        ("- about: x", "is no recording"),
    ],
)
def test_the_error_of_an_invalid_file_names_the_position(
    tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(ModelNotConfigured, match=says):
        load(tmp_path, "bad")
