"""The tools as LangChain wants them."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.tools import BaseTool, StructuredTool, create_schema_from_function

from agents.tools.registry import Body


def build_tools(bodies: Iterable[Body]) -> list[BaseTool]:
    """Tools of these bodies. What they are for, they say in their docstrings, which models see.

    The schema is that of what the model gives: with `runtime` in it, as LangChain would infer it,
    each call would dump the whole history (langchain-core 1.7, `BaseTool._parse_input`).
    """
    return [
        StructuredTool.from_function(
            coroutine=body,
            name=body.__name__,
            args_schema=create_schema_from_function(
                body.__name__, body, parse_docstring=True, filter_args=("runtime",)
            ),
            parse_docstring=True,
            response_format="content_and_artifact",
        )
        for body in bodies
    ]
