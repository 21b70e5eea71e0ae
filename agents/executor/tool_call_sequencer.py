"""Runs the tool calls of one reply one at a time, in the order in which the reply makes them.

They are graph tasks of their own, and LangGraph promises no order in which tasks start.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from langchain_core.messages import ToolMessage


class ToolCallSequencer:
    """The order of one attempt. If a call fails, the calls that wait for it fail with its
    exception.

    Otherwise a later call would be made before the graph stops, and so before the failed one, which
    is tried again.
    """

    def __init__(self) -> None:
        self._ends: dict[tuple[str, int], asyncio.Event] = {}
        self._failure: BaseException | None = None
        self._answers: defaultdict[str, list[ToolMessage]] = defaultdict(list)

    def add_answer(self, reply: str, answer: ToolMessage) -> None:
        """A call of `reply` was answered, now or before a crash."""
        self._answers[reply].append(answer)

    def answers(self, reply: str) -> Sequence[ToolMessage]:
        """The answers to the calls of `reply` so far, which the state of the pass lacks until all
        are answered. The same after a crash, because calls are made or recalled in order."""
        return tuple(self._answers[reply])

    @asynccontextmanager
    async def of(self, reply: str, index: int = 0) -> AsyncIterator[None]:
        """Wait until the calls before `index` (from 0) of `reply` have ended."""
        end = self._end(reply, index)
        try:
            if index > 0:
                await self._end(reply, index - 1).wait()
            if self._failure is not None:
                raise self._failure  # noqa: TRY301 - the failure is another call's
            yield
        except BaseException as failure:
            self._failure = failure
            raise
        finally:
            end.set()

    def _end(self, reply: str, index: int) -> asyncio.Event:
        return self._ends.setdefault((reply, index), asyncio.Event())
