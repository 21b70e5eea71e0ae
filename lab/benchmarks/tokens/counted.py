"""Count the tokens of requests. Pure.

Providers' tokenizers differ and need the network, so a token is counted as four bytes of a
request's body, including its tools. Both sides of a ratio are counted in the same way, so the ratio
hardly depends on the tokenizer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lab.provider import Request

BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Sent:
    """Input tokens of the executor's requests, the part that a prefix cache holds, and what every
    request repeats: instructions and tools. `critic` are the tokens of the critic's request."""

    tokens: int
    cached: int
    overhead: int
    critic: int

    @classmethod
    def of(cls, requests: Sequence[Request], critic: Request) -> Sent:
        """Sum up requests. The cached part of a request is its common prefix with the previous
        request, in complete messages after the tools.
        """
        bodies = [_parts(request) for request in requests]
        cached = sum(_same_beginning(before, after) for before, after in pairwise(bodies))
        return cls(
            _tokens(sum(map(_size, bodies))),
            _tokens(cached),
            overhead(requests[0]),
            tokens_of(critic),
        )


def overhead(request: Request) -> int:
    """The tokens of a request's instructions and tools."""
    return _tokens(_size(_parts(request)[:2]))


def tokens_of(request: Request) -> int:
    """The tokens of a complete request."""
    return _tokens(_size(_parts(request)))


def _parts(request: Request) -> list[str]:
    """The tools of a request, and each of its messages; the first message has the instructions."""
    body = request.body
    return [_compact(body.get("tools", [])), *map(_compact, body["messages"])]


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _same_beginning(before: Sequence[str], after: Sequence[str]) -> int:
    size = 0
    for before_part, after_part in zip(before, after, strict=False):
        if before_part != after_part:
            break
        size += len(before_part.encode())
    return size


def _size(parts: Sequence[str]) -> int:
    return sum(len(part.encode()) for part in parts)


def _tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)
