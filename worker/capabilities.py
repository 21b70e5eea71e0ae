"""What a worker publishes of itself: sandbox layers, models with keys, version, graph format."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from agents.format import READS, WRITES
from settings.worker import WorkerSettings
from worker.choice import chains
from worker.fit import model_options
from worker.offer import offer
from worker.spending import prices
from worker.tools import tools


def announcement(settings: WorkerSettings) -> Mapping[str, Any]:
    """The facts that stay as they are while the worker runs: all but the sandbox's."""
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "version": version("fettle"),
        "graph": {"writes": WRITES, "reads": sorted(READS)},
        "slots": settings.concurrency,
        "blob_grace_seconds": settings.blob_grace_seconds,
        "workspace_bytes": settings.workspace_bytes,
        "tools": [body.__name__ for body in tools(settings)],
        "models": offer(chains(settings), model_options(settings), prices(settings)),
    }
