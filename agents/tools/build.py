"""The tools as LangChain wants them."""

from __future__ import annotations

from langchain_core.tools import BaseTool, StructuredTool, create_schema_from_function

from agents.tools.files import list_dir, read_file, write_file
from agents.tools.python import python


def build_tools() -> list[BaseTool]:
    """The four tools. What they are for, they say in their docstrings, which the model sees.

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
        for body in (python, read_file, write_file, list_dir)
    ]
