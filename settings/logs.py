"""Logs: one event a line, the library's and everybody else's alike, on stderr."""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.typing import Processor

QUIET = ("celery", "httpx", "httpcore", "kombu", "docker", "urllib3", "uvicorn.access")
"""Loggers that tell a line per request of ours; their warnings still come through."""


def configure(log_format: str = "json", level: str = "INFO") -> None:
    """Set up structlog and the standard library's logging, once, at a process' start.

    log_format: `json`, one object a line; anything else is for people. Values bound with
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
    # the default formatter prints every local variable: slow, and they may hold secrets
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
