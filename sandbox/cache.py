"""Answers of earlier runs, for runs that are the same: off unless an operator wants it.

The same code over the same files with the same input, limits and image is not run again, but
answered as it was the first time. What that gives away:

- Code that depends on chance, on the time or on a race repeats its first answer; a run that was
  wrong by bad luck stays wrong. So only runs that ended by themselves are kept: none that met a
  limit, was killed, or died by a signal.
- A scope (an API key's id) never sees another's answers: it is part of the key, and how long an
  answer takes reveals nothing of other tenants.
- Answers are kept in this process's memory alone, the least recently used going first. They do not
  outlive the worker, and there is no file to guard, to corrupt or to clean up.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from sandbox.protocol import Command, End, Layer, Limits, RunResult, Sandbox

_ENTRY_BYTES = 1024
"""What an entry takes beside its texts and files, roughly."""


class ResultCache:
    """Answers of at most `size` bytes together. Belongs to one event loop, as backends do."""

    def __init__(self, size: int) -> None:
        self._size, self._held = size, 0
        self._entries: OrderedDict[bytes, tuple[RunResult, int]] = OrderedDict()

    def scoped(self, scope: str, inner: Sandbox, *, image: str) -> Sandbox:
        """`inner`, answering from what was run in `scope` before, and in no other.

        `image` names what the code runs in: an image's digest, or `environment` of an interpreter.
        `check` and `close` are those of `inner`.
        """
        return _Scoped(self, inner, scope, image)

    def get(self, key: bytes) -> RunResult | None:
        """The answer under `key`, which is by that the most recently used."""
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return _own(self._entries[key][0])

    def put(self, key: bytes, result: RunResult) -> None:
        """Keep an answer, as it is now, if it fits."""
        size = _weight(result)
        if size > self._size:
            return
        self._held += size - self._entries.pop(key, (result, 0))[1]
        self._entries[key] = _own(result), size
        while self._held > self._size:
            _, (_, freed) = self._entries.popitem(last=False)
            self._held -= freed


@dataclass(frozen=True, slots=True)
class _Scoped:
    """Implements `protocol.Sandbox`."""

    cache: ResultCache
    inner: Sandbox
    scope: str
    image: str

    async def run(self, command: Command, limits: Limits) -> RunResult:
        key = _key(self.scope, self.image, command, limits)
        known = self.cache.get(key)
        if known is not None:
            return known
        result = await self.inner.run(command, limits)
        if result.end is End.EXITED:
            self.cache.put(key, result)
        return result

    async def check(self) -> tuple[Layer, ...]:
        return await self.inner.check()

    async def close(self) -> None:
        await self.inner.close()


def _key(scope: str, image: str, command: Command, limits: Limits) -> bytes:
    """One for each run: every field counts, one that is added later too."""
    # Files may be large and in many commands: their digests stand for them.
    files = {path: sha256(data).digest() for path, data in sorted(command.files.items())}
    short = replace(command, files=files, stdin=sha256(command.stdin).digest())
    return sha256(repr((scope, image, short, limits)).encode()).digest()


def environment(python: Path) -> str:
    """A name for an interpreter and what is installed for it, which an installation changes."""
    places = [python.resolve(), python.parent.parent / "pyvenv.cfg"]
    for packages in sorted(python.parent.parent.glob("lib/python*/site-packages")):
        places += [packages, *sorted(packages.iterdir())]
    known = tuple((str(place), place.stat().st_mtime_ns) for place in places if place.exists())
    return sha256(repr(known).encode()).hexdigest()


def _own(result: RunResult) -> RunResult:
    """The same with a mapping of its own: what one caller does to his is no other's."""
    return replace(result, changed=dict(result.changed))


def _weight(result: RunResult) -> int:
    texts = (result.stdout.text, result.stderr.text, *result.refused, *result.deleted)
    files = sum(sys.getsizeof(path) + len(data) for path, data in result.changed.items())
    return _ENTRY_BYTES + files + sum(map(sys.getsizeof, texts))
