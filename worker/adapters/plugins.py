"""A guard around a plug-in's tool: its exceptions are reported to the model, and end no job."""

from __future__ import annotations

import functools
from typing import Any

import structlog
from langgraph.errors import GraphBubbleUp

from agents.errors import ToolRefused
from agents.tools.call import Answer
from agents.tools.registry import Body
from jobs.blobs.directory import cause_of
from worker.failures import Fail, classify_failure, exhausted

TRACE = frozenset({"kind", "data", "files"})
"""What is read of an `agents.history.Trace`."""

log = structlog.get_logger("worker.adapters.plugins")


def guard_plugin(body: Body) -> Body:
    """`body`, whose unexpected exceptions are logged and become refusals.

    Exceptions of Fettle itself (cancel, the store, the sandbox, a model, the machine) pass through:
    they decide what becomes of the job, and a model cannot fix them.
    """

    @functools.wraps(body)
    async def within(*args: Any, **kwargs: Any) -> Answer:
        try:
            return _fitting(await body(*args, **kwargs))
        except ToolRefused:
            raise
        except Exception as error:
            if _ours(error):
                raise
            name, runtime = body.__name__, kwargs.get("runtime")
            job_id = runtime.config["configurable"]["thread_id"] if runtime else None
            log.exception("tool failed", tool=name, job_id=job_id)
            raise ToolRefused(f"the tool {name} failed ({type(error).__name__})") from error

    return within


def _ours(error: Exception) -> bool:
    if exhausted(error) or isinstance(error, GraphBubbleUp):
        return True
    if isinstance(error, OSError) and cause_of(error) is None:
        return False  # a file or a host that the tool itself has asked for
    meant = classify_failure(error)
    return not (isinstance(meant, Fail) and meant.unforeseen)


def _fitting(answer: Any) -> Answer:
    """Raises TypeError for a value that is no Answer: later it would look like a failure of
    Fettle."""
    text, trace = answer
    if not isinstance(text, str) or not trace.keys() >= TRACE:
        raise TypeError("a tool answers a text and a Trace")
    return text, trace
