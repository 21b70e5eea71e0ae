"""IndexScan: once through an index of jobs, past those that fail."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from jobs.errors import StoreUnavailable


class IndexScan:
    """A job that is handled leaves the index. A job that stays in it is visited once, and does not
    hold up the others. `found` lists the first so many.
    """

    def __init__(self, found: Callable[[int], Awaitable[Sequence[str]]]) -> None:
        self._found = found
        self._stayed: set[str] = set()
        self._wrong: list[BaseException] = []

    async def next(self, many: int) -> Sequence[str]:
        """The first so many that were not visited."""
        listed = await self._found(many + len(self._stayed))
        return [job_id for job_id in listed if job_id not in self._stayed][:many]

    async def visit(self, job_ids: Sequence[str], look: Callable[[str], Awaitable[bool]]) -> int:
        """Visit these concurrently; how many were handled. Raises StoreUnavailable."""
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
        """Raise the error of the first that failed."""
        for error in self._wrong:
            raise error
