"""All tries of a measurement, some in parallel.

Each try has a thread, which only waits for the service. The threads are daemons, so that the
command can stop at once: the jobs continue, and the next measurement finds them by their keys.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Generic, TypeVar

from lab.evals.report.results import Header, Result
from lab.evals.sources.exercise import Task

T = TypeVar("T")
E = TypeVar("E", bound=Task)
R = TypeVar("R")

LOOK_SECONDS = 0.2
"""The longest time that a signal waits for the main thread."""


@dataclass(frozen=True, slots=True)
class Try(Generic[E]):
    """One try at an exercise. A repeated try has the same `key`, so that no call is paid twice."""

    exercise: E
    repeat: int
    key: str


def outstanding(
    header: Header, exercises: Sequence[E], repeats: int, results: Iterable[Result]
) -> list[Try[E]]:
    """The tries that are not measured yet, in order: each exercise once, then each again. Pure."""
    results_by_try = {(result.id, result.repeat): result for result in results}
    tries = []
    for repeat in range(1, repeats + 1):
        for exercise in exercises:
            before = results_by_try.get((exercise.id, repeat))
            if before is None or not before.measured:
                tries.append(Try(exercise, repeat, _key(header, exercise, repeat, before)))
    return tries


def _key(header: Header, exercise: Task, repeat: int, before: Result | None) -> str:
    """A try after one that was not measured has another key, so that it gets a new job."""
    after = f"-after-{before.job}" if before is not None and before.job else ""
    name = sha256(exercise.id.encode()).hexdigest()[:16]
    return f"bench-{header.id}-{name}-{repeat}{after}"


def for_each(
    items: Sequence[T], do: Callable[[T], R], at_once: int, done: Callable[[R], None]
) -> None:
    """`do` every item, `at_once` in parallel; `done` is called with each outcome in this thread.

    The first exception is raised; unfinished items are abandoned.
    """
    waiting: queue.SimpleQueue[T] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    outcomes: queue.SimpleQueue[R | Exception] = queue.SimpleQueue()
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                outcomes.put(do(item))
            except Exception as error:  # noqa: BLE001 - raised where it is awaited
                outcomes.put(error)

    for number in range(min(at_once, len(items))):
        threading.Thread(target=work, name=f"bench-{number}", daemon=True).start()
    try:
        for _ in items:
            outcome = _next(outcomes)
            if isinstance(outcome, Exception):
                raise outcome
            done(outcome)
    finally:
        over.set()


def _next(outcomes: queue.SimpleQueue[R | Exception]) -> R | Exception:
    while True:
        try:
            return outcomes.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            continue
