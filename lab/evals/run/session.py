"""One measurement from the command's options to its table, for `fettle bench SET --model`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from api.quantities import duration
from cli.output import Screen
from cli.render.parts import Tone
from fettle import Service
from lab.evals.report.results import Header, Result, ResultFile, read_results
from lab.evals.run import beginning, service
from lab.evals.run.judging import Judge
from lab.evals.run.request import MeasurementRequest
from lab.evals.run.tries import E, Try, for_each, outstanding
from lab.evals.sources.exercise import Exercise, TaskSet
from settings.client import ClientSettings


@dataclass(frozen=True, slots=True)
class BenchSession(Generic[E]):
    """`exercises` of the set are tried `repeats` times each by `work`, at most `at_once` in
    parallel."""

    of: TaskSet[E]
    exercises: Sequence[E]
    work: Callable[[Service, MeasurementRequest, Try[E]], Result]
    request: MeasurementRequest
    repeats: int
    at_once: int
    file: Path
    warning: Callable[[Mapping[str, Any]], str | None] = lambda _: None
    """A sentence about a service that makes the exercises harder, by its GET /system."""

    @property
    def keep(self) -> Path:
        """The folder in which a temporary service keeps its jobs until all are measured."""
        return self.file.with_suffix(".service")

    def run(self, settings: ClientSettings | None, screen: Screen) -> tuple[Header, list[Result]]:
        """Measure the remaining tries; returns all results in the file.

        Raises CliError if there is no service, or if the file belongs to another measurement.
        """
        with ResultFile(self.file) as file:
            if file.is_started and not self._todo(
                *beginning.begin(file, self.of, self.request, {})
            ):
                screen.line("results", f"{self.file}: everything is measured; --fresh starts over")
                return read_results(self.file)
            with service.running(settings, screen, self.keep, (self.request.model,)) as api:
                header, earlier_results = beginning.begin(file, self.of, self.request, api.system())
                todo = self._todo(header, earlier_results)
                if text := self.warning(api.system()):
                    screen.line("note", text, Tone.WARN)
                if earlier_results:
                    screen.line("continuing", f"{self.file}: {len(todo)} left")
                self._measure(api, file, todo, screen)
        header, results = read_results(self.file)
        if not self._todo(header, results):
            service.forget(self.keep)
        return header, results

    def _todo(self, header: Header, earlier_results: Sequence[Result]) -> list[Try[E]]:
        return outstanding(header, self.exercises, self.repeats, earlier_results)

    def _measure(
        self, api: Service, file: ResultFile, todo: Sequence[Try[E]], screen: Screen
    ) -> None:
        started_at, count = time.monotonic(), 0
        judge = Judge(self.request.judge) if self.request.judge else None

        def measure_exercise(at: Try[E]) -> Result:
            result = self.work(api, self.request, at)
            exercise = at.exercise
            if judge is not None and isinstance(exercise, Exercise):
                result = judge.scored(api, exercise, result)
            file.write(result)  # before the result is shown
            return result

        def done(result: Result) -> None:
            nonlocal count
            count += 1
            _show(screen, result, count, len(todo))

        with judge or nullcontext():
            for_each(todo, measure_exercise, self.at_once, done)
        seconds = time.monotonic() - started_at
        rate = seconds / max(count, 1)
        screen.line("measured", f"{count} in {duration(seconds)}, {duration(rate)} each")


def _show(screen: Screen, result: Result, count: int, of: int) -> None:
    if not result.measured:
        word, tone = f"not measured: {result.why_not}", Tone.BAD
    elif result.final is None:
        score = result.score["score"] if result.score else None
        word, tone = (f"score {score}" if score is not None else "no tests"), Tone.PLAIN
    elif result.final.passed:
        repaired = result.first is not None and not result.first.passed
        word, tone = ("passed after repair" if repaired else "passed"), Tone.GOOD
    else:
        word, tone = f"failed: {result.final.why}", Tone.WARN
    number = f" try {result.repeat}" if result.repeat > 1 else ""
    screen.line(f"{count}/{of}", f"{result.id}{number}: {word}", tone)
