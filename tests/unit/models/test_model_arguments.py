"""Arguments of tool calls: converted to an object, and to the values that the tool's schema
expects.
"""

from __future__ import annotations

from typing import Any

import pytest

from agents.models.replies.arguments import as_meant, as_object, compact
from agents.models.replies.ending import MALFORMED
from agents.nodes.planner import ParallelPlan
from agents.tools.registry import TOOLS, build_tools

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "offset": {"type": "integer", "default": 1},
        "ratio": {"type": "number"},
        "append": {"type": "boolean", "default": False},
        "words": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object", "properties": {"depth": {"type": "integer"}}},
        "steps": {
            "type": "array",
            "items": {"type": "object", "properties": {"after": {"type": "integer"}}},
        },
        "verdict": {"type": "string", "enum": ["approve", "revise"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        "anything": {},
    },
    "required": ["path"],
}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"offset": None}, {}),
        ({"path": None}, {"path": None}),
        ({"offset": "null"}, {}),
        ({"offset": ""}, {}),
        ({"path": ""}, {"path": ""}),
        ({"offset": "5"}, {"offset": 5}),
        ({"offset": " 5 "}, {"offset": 5}),
        ({"offset": "5.0"}, {"offset": 5}),
        ({"offset": 5.0}, {"offset": 5}),
        ({"offset": "five"}, {"offset": "five"}),
        ({"offset": "5.5"}, {"offset": "5.5"}),
        ({"ratio": "0.5"}, {"ratio": 0.5}),
        ({"ratio": "NaN"}, {"ratio": "NaN"}),
        ({"append": "true"}, {"append": True}),
        ({"append": "False"}, {"append": False}),
        ({"append": "perhaps"}, {"append": "perhaps"}),
        ({"words": '["a", "b"]'}, {"words": ["a", "b"]}),
        ({"words": "python a.py"}, {"words": "python a.py"}),
        ({"words": [5]}, {"words": ["5"]}),
        ({"numbers": '["1", 2]'}, {"numbers": [1, 2]}),
        ({"options": '{"depth": "2"}'}, {"options": {"depth": 2}}),
        ({"options": '"{\\"depth\\": 2}"'}, {"options": {"depth": 2}}),
        ({"options": {"depth": None}}, {"options": {}}),
        ({"steps": {"after": "1"}}, {"steps": [{"after": 1}]}),
        ({"steps": '[{"after": 1}]'}, {"steps": [{"after": 1}]}),
        ({"path": 5}, {"path": "5"}),
        ({"path": 0.5}, {"path": "0.5"}),
        ({"path": True}, {"path": True}),
        ({"path": ["a.py"]}, {"path": "a.py"}),
        ({"path": ["a\n", "b"]}, {"path": "a\nb"}),
        ({"path": ["ls", "-l"]}, {"path": ["ls", "-l"]}),
        ({"path": '["a.py"]'}, {"path": '["a.py"]'}),
        ({"path": '{"a": 1}'}, {"path": '{"a": 1}'}),
        ({"verdict": "APPROVE"}, {"verdict": "approve"}),
        ({"verdict": "perhaps"}, {"verdict": "perhaps"}),
        ({"either": "3"}, {"either": 3}),
        ({"either": "[3]"}, {"either": [3]}),
        ({"anything": None}, {}),
        ({"anything": "5"}, {"anything": "5"}),
        ({"unknown": None}, {"unknown": None}),
        ({"arguments": {"path": "a.py", "offset": "2"}}, {"path": "a.py", "offset": 2}),
        ({"parameters": '{"path": "a.py"}'}, {"path": "a.py"}),
        ({"arguments": {"other": 1}}, {"arguments": {"other": 1}}),
    ],
)
def test_arguments_are_converted_by_the_schema(
    arguments: dict[str, Any], expected: dict[str, Any]
) -> None:
    converted = as_meant(arguments, SCHEMA)
    assert converted == expected
    assert [type(value) for value in converted.values()] == [
        type(value) for value in expected.values()
    ]


@pytest.mark.parametrize(
    ("sent", "arguments"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('[{"a": 1}]', {"a": 1}),
        ([{"a": 1}], {"a": 1}),
        ('["{\\"a\\": 1}"]', {"a": 1}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ("", {}),
        (None, {}),
        ("null", {}),
        ('""', {}),
        ("[]", {}),
        ('{"a": ', {MALFORMED: '{"a": '}),
        ("ls -l", {MALFORMED: "ls -l"}),
        ("5", {MALFORMED: "5"}),
        ([1, 2], {MALFORMED: "[1, 2]"}),
        ("[" * 100_000, {MALFORMED: "[" * 100_000}),
    ],
)
def test_arguments_are_an_object(sent: Any, arguments: dict[str, Any]) -> None:
    assert as_object(sent) == arguments


@pytest.mark.parametrize(
    ("schema", "compacted"),
    [
        (
            {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None},
            {"type": "integer"},
        ),
        (
            {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
            {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        ),
        ({"type": ["string", "null"], "title": "A"}, {"type": "string"}),
        ({"type": ["string", "integer", "null"]}, {"type": ["string", "integer"]}),
        (
            {"properties": {"title": {"type": "string"}, "default": {"type": "string"}}},
            {"properties": {"title": {"type": "string"}, "default": {"type": "string"}}},
        ),
        ({"default": 0, "type": "integer"}, {"type": "integer"}),
    ],
)
def test_the_schema_of_an_optional_argument_has_no_null(
    schema: dict[str, Any], compacted: dict[str, Any]
) -> None:
    assert compact(schema) == compacted


def test_no_tool_offers_null() -> None:
    for tool in build_tools(TOOLS):
        assert "null" not in str(tool.tool_call_schema.model_json_schema()), tool.name
    assert "null" not in str(compact(ParallelPlan.model_json_schema()))
