"""The tools of every executor, and their form for LangChain. To add a tool, write its function and
add it to `TOOLS`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from typing import Any, ClassVar

from langchain_core.tools import BaseTool, StructuredTool, create_schema_from_function
from pydantic import BaseModel, create_model
from typing_extensions import override

from agents.attempt import Ports
from agents.models.replies.arguments import compact
from agents.tools.edit_file import edit_file
from agents.tools.file_tools import VIEW_IMAGE, list_dir, read_file, view_image, write_file
from agents.tools.git import PROGRAM, git
from agents.tools.run_tools import python, shell, verify
from agents.tools.search import search

Body = Callable[..., Awaitable[Any]]
"""A tool: an async function with the tool's name that takes the model's arguments and `runtime`,
and returns a `call.Answer`. Its docstring is the description for the model."""

TOOLS: tuple[Body, ...] = (
    python,
    shell,
    verify,
    read_file,
    write_file,
    edit_file,
    list_dir,
    search,
    git,
    view_image,
)
"""The tools, in the order in which the model sees them: every prompt has the same beginning."""

LOOKING: frozenset[Body] = frozenset({read_file, list_dir, search, git, view_image})
"""Tools that only look at files. Their calls name no steps of the plan: each argument is part of
every request, and a look is for the step that the next program or edit names."""


def offered(name: str, ports: Ports) -> bool:
    """Whether the job's executor has the tool of this name."""
    if name == PROGRAM:
        return ports.repository is not None and PROGRAM in ports.environment.programs
    return name != VIEW_IMAGE or ports.models.sees_images("executor")


PLAN_STEPS = "plan_steps"
"""The argument of every tool in which the model names the steps of the plan that a call is for."""


class SchemaOnce(BaseModel):
    """The arguments of a tool, with their schema stored. Each request needs the schemas of all
    tools, and pydantic takes about three milliseconds to make them."""

    schema_for_model: ClassVar[dict[str, Any] | None] = None

    @classmethod
    @override
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """See BaseModel. Callers must not change the schema; LangChain stores schemas, too."""
        if args or kwargs:
            return super().model_json_schema(*args, **kwargs)
        if cls.schema_for_model is None:
            cls.schema_for_model = compact(super().model_json_schema())
        return cls.schema_for_model


class PlanAwareTool(StructuredTool):
    """A tool with an additional argument for the model, which its body does not take: the steps of
    the plan. The argument is removed before the body is called (`agents.executor.plan_progress`). A
    tool that only looks at files has no such argument."""

    offered: type[BaseModel]
    """The arguments that the model sees."""

    @property
    def tool_call_schema(self) -> type[BaseModel]:
        """The schema for the model."""
        return self.offered


def build_tools(bodies: Iterable[Body]) -> list[BaseTool]:
    """The LangChain tools of these bodies, described to the model by their docstrings."""
    return [_build_tool(body) for body in bodies]


@cache
def arguments_of(body: Body) -> type[BaseModel]:
    """The arguments of a tool that the model sends, without `runtime`. LangChain would infer a
    schema with `runtime`; then each call would serialize the full history (langchain-core 1.7,
    `BaseTool._parse_input`)."""
    arguments = create_schema_from_function(
        body.__name__, body, parse_docstring=True, filter_args=("runtime",)
    )
    assert issubclass(arguments, BaseModel)  # noqa: S101 - the types allow a model of pydantic 1
    return arguments


def _build_tool(body: Body) -> BaseTool:
    name, arguments = body.__name__, arguments_of(body)
    if PLAN_STEPS in arguments.model_fields:
        raise ValueError(
            f"the tool {name} has an argument `{PLAN_STEPS}`, which is added to every tool"
        )
    steps: dict[str, Any] = {} if body in LOOKING else {PLAN_STEPS: (list[int] | None, None)}
    return PlanAwareTool.from_function(
        coroutine=body,
        name=name,
        args_schema=arguments,
        parse_docstring=True,
        response_format="content_and_artifact",
        offered=create_model(
            name, __base__=(arguments, SchemaOnce), __doc__=arguments.__doc__, **steps
        ),
    )
