"""Ends a process at once that has no memory or threads left, or whose event loop hangs.

Such a process can no longer be relied on: the thread that renews leases may be gone, or an answer
half read. Its jobs return to the queue when their leases expire, so that the rule for crashes finds
the cause (J7): jobs that merely shared the process run again, and one that crashes alone is
poisoned.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from typing import Any, NoReturn

EXIT_CODE = 70
"""EX_SOFTWARE of sysexits.h."""


def exhausted(error: BaseException | None) -> bool:
    """Whether an error is caused by lack of memory or threads, however a library wraps it."""
    return any(map(_is_want, _chain(error)))


def abort_process(error: BaseException) -> NoReturn:
    """End this process now; its sandboxes end with it."""
    traceback.print_exception(error, file=sys.stderr)  # logging may need more memory
    os.write(2, b'{"event": "worker collapsed", "logger": "worker", "level": "critical"}\n')
    os._exit(EXIT_CODE)


def abort_if_exhausted(loop: Any, context: dict[str, Any]) -> None:
    """An event loop's exception handler: as the loop's own, but for such an error."""
    if exhausted(error := context.get("exception")):
        abort_process(error or MemoryError())
    loop.default_exception_handler(context)


def _is_want(error: BaseException) -> bool:
    if isinstance(error, RuntimeError):
        return "can't start new thread" in str(error)
    return isinstance(error, MemoryError)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, what caused it, and so on; and those of a group."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions
