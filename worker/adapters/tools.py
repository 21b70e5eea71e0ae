"""The tools of executors, by the settings, and a guard around the tools of plug-ins."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import structlog
from langgraph.errors import GraphBubbleUp

from agents.errors import ToolRefused
from agents.tools.call import Answer
from agents.tools.fetch import fetch
from agents.tools.registry import PLAN_STEPS, TOOLS, Body
from jobs.blobs.directory import describe_os_error
from settings.tools import ToolSettings
from worker.failures import Fail, classify_failure, is_exhausted

TRACE = frozenset({"kind", "data", "files"})
"""The attributes of an `agents.history.Trace` that Fettle reads."""

log = structlog.get_logger("worker.adapters.tools")


def guard_plugin(body: Body) -> Body:
    """Wrap a tool: log its unexpected exceptions and turn them into refusals.

    Exceptions of Fettle (cancel, the store, the sandbox, a model, the machine) pass through: they
    decide about the job, and a model cannot fix them.
    """

    @functools.wraps(body)
    async def within(*args: Any, **kwargs: Any) -> Answer:
        try:
            return _checked_answer(await body(*args, **kwargs))
        except ToolRefused:
            raise
        except Exception as error:
            if _is_fettles(error):
                raise
            name, runtime = body.__name__, kwargs.get("runtime")
            job_id = runtime.config["configurable"]["thread_id"] if runtime else None
            log.exception("tool failed", tool=name, job_id=job_id)
            raise ToolRefused(f"the tool {name} failed ({type(error).__name__})") from error

    return within


def _is_fettles(error: Exception) -> bool:
    if is_exhausted(error) or isinstance(error, GraphBubbleUp):
        return True
    if isinstance(error, OSError) and describe_os_error(error) is None:
        return False  # a file or a host of the tool
    failure = classify_failure(error)
    return not (isinstance(failure, Fail) and failure.unforeseen)


def _checked_answer(answer: Any) -> Answer:
    """Raises TypeError for a value that is no Answer: later it would look like a failure of
    Fettle."""
    text, trace = answer
    if not isinstance(text, str) or not trace.keys() >= TRACE:
        raise TypeError("a tool answers a text and a Trace")
    return text, trace


GROUP = "fettle.tools"


class ToolUnfit(Exception):
    """A tool that the operator names cannot be offered. Its text says why."""


def tools(settings: ToolSettings) -> tuple[Body, ...]:
    """The built-in tools, the tools that settings allow, and plug-ins by name, in this order.

    Raises ToolUnfit.
    """
    bodies = list(TOOLS)
    bodies += [fetch] if settings.fetch_hosts else []
    bodies += plugins(settings.tools, entry_points(group=GROUP))
    names = [body.__name__ for body in bodies]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ToolUnfit(f"FETTLE_TOOLS: there are two tools of the name {', '.join(sorted(twice))}")
    return tuple(bodies)


def plugins(names: Iterable[str], installed: Iterable[EntryPoint]) -> list[Body]:
    """The tools of these names. A plug-in that is installed but not named is not imported."""
    entries = {entry.name: entry for entry in installed}
    bodies = []
    for name in names:
        if name not in entries:
            available = ", ".join(sorted(entries)) or "none"
            raise ToolUnfit(f"FETTLE_TOOLS: no tool {name!r} is installed; there are: {available}")
        try:
            body = entries[name].load()
        except Exception as error:
            raise ToolUnfit(f"FETTLE_TOOLS: the tool {name!r} does not load: {error}") from error
        bodies.append(guard_plugin(_checked_body(name, body)))
    return bodies


def _checked_body(name: str, body: Body) -> Body:
    """`body`, if it is what `registry.Body` says."""
    if not inspect.iscoroutinefunction(body) or "runtime" not in inspect.signature(body).parameters:
        raise ToolUnfit(f"FETTLE_TOOLS: {name!r} is no async function that takes `runtime`")
    if PLAN_STEPS in inspect.signature(body).parameters:
        raise ToolUnfit(
            f"FETTLE_TOOLS: {name!r} has a parameter `{PLAN_STEPS}`: all tools have one"
        )
    if body.__name__ != name or not inspect.getdoc(body):
        raise ToolUnfit(f"FETTLE_TOOLS: the function of {name!r} needs that name and a docstring")
    return body
