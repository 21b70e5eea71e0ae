"""Builds the tools in the form that LangChain needs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, ClassVar

from langchain_core.tools import BaseTool, StructuredTool, create_schema_from_function
from pydantic import BaseModel, create_model
from typing_extensions import override

from agents.models.schemas import compact
from agents.tools.registry import LOOKING, Body

PLAN_STEPS = "plan_steps"
"""The argument of every tool in which the model names the steps of the plan that a call is for."""


class SchemaOnce(BaseModel):
    """Arguments in the form that a model gets. Each request asks for the schema of every tool,
    which takes pydantic about three milliseconds for all of them, so it is kept."""

    made: ClassVar[dict[str, Any] | None] = None

    @classmethod
    @override
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """See BaseModel. Callers do not change it; LangChain keeps the schemas of its own tools,
        too."""
        if args or kwargs:
            return super().model_json_schema(*args, **kwargs)
        if cls.made is None:
            cls.made = compact(super().model_json_schema())
        return cls.made


class PlanAwareTool(StructuredTool):
    """A tool that the model sees with one more argument than its body takes, the steps of the plan,
    unless it only looks at files. The argument is removed before the body is called, see
    `agents.executor.plan_progress`."""

    offered: type[BaseModel]

    @property
    def tool_call_schema(self) -> type[BaseModel]:
        """The schema for the model."""
        return self.offered


def build_tools(bodies: Iterable[Body]) -> list[BaseTool]:
    """Tools of these bodies. Their docstrings are the descriptions for the model."""
    return [_tool(body) for body in bodies]


@cache
def arguments_of(body: Body) -> type[BaseModel]:
    """The model's arguments of a tool. With `runtime` among them, as LangChain would infer it, each
    call would dump the whole history (langchain-core 1.7, `BaseTool._parse_input`)."""
    name = body.__name__
    own = create_schema_from_function(name, body, parse_docstring=True, filter_args=("runtime",))
    assert issubclass(own, BaseModel)  # noqa: S101 - the types allow a model of pydantic 1, too
    return own


def _tool(body: Body) -> BaseTool:
    name, own = body.__name__, arguments_of(body)
    if PLAN_STEPS in own.model_fields:
        raise ValueError(
            f"the tool {name} has an argument `{PLAN_STEPS}`, which is added to every tool"
        )
    steps: dict[str, Any] = {} if body in LOOKING else {PLAN_STEPS: (list[int] | None, None)}
    return PlanAwareTool.from_function(
        coroutine=body,
        name=name,
        args_schema=own,
        parse_docstring=True,
        response_format="content_and_artifact",
        offered=create_model(name, __base__=(own, SchemaOnce), __doc__=own.__doc__, **steps),
    )
