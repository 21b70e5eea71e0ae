"""Golden checkpoints: jobs as earlier releases left them, put into a deployment of this release."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from support.processes.deployment import Deployment

from jobs.redis import keys
from jobs.redis.keys import JobKeys

SUMS = (keys.COUNTS, keys.REFERENCES)
FOLDER = Path(__file__).parents[2] / "golden"


@dataclass(frozen=True)
class Golden:
    """A job as `tests/golden/make.py` wrote it down."""

    job_id: str
    turns: list[Any]
    keys: list[dict[str, Any]]
    blobs: list[str]

    @classmethod
    def load(cls, name: str) -> Golden:
        """The file of that name."""
        left = json.loads((FOLDER / f"{name}.json").read_text())
        return cls(left["job_id"], left["turns"], left["keys"], left["blobs"])

    async def put(self, deployment: Deployment) -> None:
        """Put its keys, its bytes and its model's side into a deployment, beside what is there."""
        deployment.record("golden", self.turns)
        for content in self.blobs:
            await deployment.blobs.put(base64.b64decode(content))
        async with Redis.from_url(deployment.redis_url, encoding="latin-1") as redis:
            for kept in self.keys:
                for command in _written(kept["key"], kept["type"], kept["value"]):
                    await redis.execute_command(*command)

    async def doctor(self, deployment: Deployment, **fields: str) -> None:
        """Change fields of the record's hash, as another release might have written them."""
        async with Redis.from_url(deployment.redis_url) as redis:
            await redis.hset(JobKeys(self.job_id).record, mapping=fields)  # type: ignore[misc]


def _written(key: str, kind: str, value: Any) -> Iterator[tuple[Any, ...]]:
    """The commands that make a key as it was; counts are added up."""
    match kind:
        case "hash" if key in SUMS:
            yield from (("HINCRBY", key, name, count) for name, count in value.items())
        case "hash":
            yield ("HSET", key, *(part for item in value.items() for part in item))
        case "zset":
            yield ("ZADD", key, *(part for member, score in value for part in (score, member)))
        case "list":
            yield ("RPUSH", key, *value)
        case "set":
            yield ("SADD", key, *value)
        case _:
            yield ("SET", key, value)
