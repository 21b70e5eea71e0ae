"""Delivery: one message to the operator's webhook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message. `id` is the same at every try; times in ms; `error` is the last try's."""

    id: str
    type: str
    tenant: str
    job_id: str
    at: int
    data: Mapping[str, Any]
    tries: int = 0
    error: str = ""
    due_at: int = 0
