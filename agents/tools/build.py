"""The tools as LangChain wants them."""

from __future__ import annotations

from langchain_core.tools import BaseTool, StructuredTool

from agents.tools.files import list_dir, read_file, write_file
from agents.tools.python import python


def build_tools() -> list[BaseTool]:
    """The four tools. What they are for, they say in their docstrings, which the model sees."""
    return [
        StructuredTool.from_function(
            coroutine=body,
            name=body.__name__,
            parse_docstring=True,
            response_format="content_and_artifact",
        )
        for body in (python, read_file, write_file, list_dir)
    ]
