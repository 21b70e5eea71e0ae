"""The files and directories of jobs, for commands that call the service by `fettle.Service`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Job = Mapping[str, Any]
"""A job as `GET /jobs/{id}` describes it."""
