"""Tour: once through an index of jobs, past those that cannot be dealt with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from jobs.errors import StoreUnavailable


class IndexScan:
    """What is dealt with leaves the index; what stays in it, for whatever reason, is looked at once
    and hinders no other. `found` lists the first so many.
    """

    def __init__(self, found: Callable[[int], Awaitable[Sequence[str]]]) -> None:
        self._found = found
        self._stayed: set[str] = set()
        self._wrong: list[BaseException] = []

    async def next(self, many: int) -> Sequence[str]:
        """The first so many that were not looked at."""
        listed = await self._found(many + len(self._stayed))
        return [job_id for job_id in listed if job_id not in self._stayed][:many]

    async def deal(self, job_ids: Sequence[str], look: Callable[[str], Awaitable[bool]]) -> int:
        """Look at these side by side; how many were dealt with. Raises StoreUnavailable."""
        looks = await asyncio.gather(*map(look, job_ids), return_exceptions=True)
        for job_id, each in zip(job_ids, looks, strict=True):
            if isinstance(each, StoreUnavailable):
                raise each
            if isinstance(each, BaseException):
                each.add_note(f"job {job_id}")
                self._wrong.append(each)
            if each is not True:
                self._stayed.add(job_id)
        return sum(each is True for each in looks)

    def end(self) -> None:
        """Raise what the first of them raised that could not be dealt with."""
        for error in self._wrong:
            raise error
