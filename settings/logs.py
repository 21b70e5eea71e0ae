"""Logs: one event a line on stderr, from Fettle and from libraries."""

from __future__ import annotations

import logging
import sys
from datetime import datetime

import structlog
from structlog.typing import EventDict, Processor

QUIET = ("celery", "httpx", "httpcore", "kombu", "docker", "mcp", "urllib3", "uvicorn")
"""Loggers that repeat the log of Fettle. Only their warnings are logged."""
BELONGING = ("caller", "tenant", "attempt", "job_id", "request_id")
USUAL_TENANT = "default"
"""The tenant of a user who needs only one."""


def configure(log_format: str = "json", level: str = "INFO") -> None:
    """Set up structlog and the standard library's logging, once, at a process' start.

    log_format: `json`, one object a line; any other value, text for people. Values bound with
    `structlog.contextvars` (job, attempt, request_id) are on every line.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(allow=()),
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_renderers(log_format),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.captureWarnings(True)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def _renderers(log_format: str) -> list[Processor]:
    if log_format == "json":
        return [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ]
    return [
        _for_people,
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            pad_event_to=0,
            pad_level=False,
            sort_keys=False,
            # The default formatter prints every local variable, which is slow; a variable may hold
            # a secret.
            exception_formatter=structlog.dev.plain_traceback,
        ),
    ]


def _for_people(_logger: object, _method: str, event: EventDict) -> EventDict:
    """The message first, the fields of `BELONGING` last, without redundant fields."""
    event["timestamp"] = datetime.fromisoformat(event["timestamp"]).astimezone().strftime("%X")
    del event["logger"]
    if event["level"] == "info":
        del event["level"]
    if event.get("tenant") == USUAL_TENANT:
        del event["tenant"]
    for name in [name for name, value in event.items() if value is None]:
        del event[name]
    for name in BELONGING:
        if name in event:
            event[name] = event.pop(name)
    return event
