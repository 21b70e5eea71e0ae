"""Reading a thread's keys. Every method is one round trip, but for those that say otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import batched_compat

from redis.asyncio import Redis
