"""Which tools the executors of this worker have, by its settings."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from agents.tools.fetch import fetch
from agents.tools.registry import PLAN_STEPS, TOOLS, Body
from settings.tools import ToolSettings
from worker.adapters.plugins import guard_plugin

GROUP = "fettle.tools"


class ToolUnfit(Exception):
    """A tool that the operator names cannot be offered. Its text says why."""


def tools(settings: ToolSettings) -> tuple[Body, ...]:
    """The usual tools, those that settings allow, and plug-ins by name, always in this order.

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
    known = {each.name: each for each in installed}
    found = []
    for name in names:
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise ToolUnfit(f"FETTLE_TOOLS: no tool {name!r} is installed; there are: {there}")
        try:
            body = known[name].load()
        except Exception as error:
            raise ToolUnfit(f"FETTLE_TOOLS: the tool {name!r} does not load: {error}") from error
        found.append(guard_plugin(_fitting(name, body)))
    return found


def _fitting(name: str, body: Body) -> Body:
    """`body`, if it is what `registry.Body` says."""
    if not inspect.iscoroutinefunction(body) or "runtime" not in inspect.signature(body).parameters:
        raise ToolUnfit(f"FETTLE_TOOLS: {name!r} is no async function that takes `runtime`")
    if PLAN_STEPS in inspect.signature(body).parameters:
        raise ToolUnfit(
            f"FETTLE_TOOLS: {name!r} has a parameter `{PLAN_STEPS}`: all tools have one"
        )
    if body.__name__ != name or not inspect.getdoc(body):
        raise ToolUnfit(f"FETTLE_TOOLS: {name!r} must be named so, and have a docstring")
    return body
