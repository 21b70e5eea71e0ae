"""Schemas of the tools of MCP servers, as all clients of models accept them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_google_genai._function_utils import convert_to_genai_function_declarations

from agents.ports.tool_servers import ServerTool
from worker.adapters.tool_schemas import portable

TEXT = {"type": "string"}
NODE = {
    "type": "object",
    "properties": {"title": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
    "required": ["title"],
}


def of_argument(schema: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, "required": ["a"], **fields}


@pytest.mark.parametrize(
    ("schema", "argument"),
    [
        ({"anyOf": [TEXT, {"type": "null"}], "default": None, "title": "A"}, TEXT),
        ({"type": ["string", "null"], "maxLength": 10**9}, TEXT),
        ({"enum": ["x", "y"]}, {"type": "string", "enum": ["x", "y"]}),
        ({"type": "string", "enum": ["", "x"]}, TEXT),
        ({"anyOf": [{"type": "null"}]}, {}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer"}),
        ({"type": "number", "enum": [float("nan")]}, {"type": "number"}),
        ({"$ref": "#/$defs/None"}, {}),
        ({"$ref": "https://example.com/schema"}, {}),
        ({"allOf": [{"$ref": "#/$defs/T"}], "description": "d"}, {**TEXT, "description": "d"}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": ["array", "null"]}, {"type": "array", "items": {}}),
        ({"$ref": "#/$defs/List"}, {"type": "array", "items": TEXT}),
        (
            {"type": {"type": 7}, "properties": None, "required": "a", "items": [TEXT]},
            {"items": {}},
        ),
        (True, {}),
    ],
)
def test_an_argument_has_the_keywords_that_clients_accept(schema: Any, argument: Any) -> None:
    targets = {"T": TEXT, "List": {"type": "array", "items": TEXT}}
    written = portable(of_argument(schema, **{"$defs": targets}))
    assert written == of_argument(argument)
    tool = ServerTool("docs__search", "Search.", written).for_model()
    assert convert_to_genai_function_declarations([tool])
    claude = ChatAnthropic(model="claude-sonnet-4-5", api_key="none")  # type: ignore[call-arg]
    assert claude.bind_tools([tool])


def test_a_schema_that_refers_to_itself_ends() -> None:
    written = portable(of_argument({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": NODE}}))
    node = {**NODE["properties"], "children": {"type": "array", "items": {}}}  # type: ignore[dict-item]
    assert written == of_argument({**NODE, "properties": node})


def test_alternatives_of_all_arguments_are_left_out() -> None:
    assert portable(of_argument(TEXT, anyOf=[{"required": ["a"]}], allOf=[])) == of_argument(TEXT)
    assert portable(None) == {"type": "object", "properties": {}}


def test_the_arguments_of_all_combined_schemas_are_kept() -> None:
    parts = [of_argument(TEXT), {"properties": {"b": TEXT, "c": TEXT}, "required": ["b"]}]
    written = portable({"allOf": parts, "properties": {"d": TEXT}, "required": ["c", "e"]})
    assert written["properties"] == dict.fromkeys("abcd", TEXT)
    assert written["required"] == ["a", "b", "c"]


def test_an_argument_with_a_name_that_providers_refuse_is_left_out() -> None:
    odd = {"type": "object", "properties": {"a": TEXT, "$top": TEXT, "x" * 65: TEXT}}
    assert portable(odd) == {"type": "object", "properties": {"a": TEXT}}
    assert portable(of_argument(odd)) == of_argument(portable(odd))
    with pytest.raises(ValueError, match=r"requires the argument '\$top'"):
        portable({**odd, "required": ["a", "$top"]})


def test_a_short_schema_cannot_become_very_long() -> None:
    doubled = {"properties": {"a": {"$ref": "#/1"}, "b": {"$ref": "#/1"}}}
    bomb = {str(n): {"properties": {k: {"$ref": f"#/{n + 1}"} for k in "ab"}} for n in range(99)}
    with pytest.raises(ValueError, match="has more than 500 parts"):
        portable({**doubled, **bomb})
    with pytest.raises(ValueError, match="has more than 16000 characters"):
        portable(of_argument({**TEXT, "description": "x" * 16_000}))
