"""The laboratory in a service: implements `jobs.benchmarks.Laboratory` by the parts of `fettle bench`.

The worker calls `advance` every few seconds. It repeats `work_on_exercise` for each try without a
result, which ends at the first job that has not ended, and finds its own jobs by their keys.

See ADR 94.
"""  # noqa: E501 - one sentence

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import TypeAdapter

from cli.errors import CliError
from jobs.benchmarks import (
    IMPORTED,
    BenchmarkRefused,
    ExerciseJobs,
    Measurement,
    NotStarted,
    Unfinished,
    Values,
)
from jobs.model.event_data.benchmarks import BenchmarkStartedData, ExerciseFinishedData
from lab.evals.report import bars
from lab.evals.report.comparing import Measured, compare
from lab.evals.report.results import (
    Header,
    Result,
    dump_line,
    header_of_fields,
    parse_results,
    result_of_fields,
)
from lab.evals.report.summing import sum_up
from lab.evals.run.beginning import new_header
from lab.evals.run.exercise_job import work_on_exercise
from lab.evals.run.request import MeasurementRequest
from lab.evals.run.tries import Try, outstanding
from lab.evals.sources import sets
from lab.evals.sources.exercise import Exercise, ExerciseSet

_STARTED, _FINISHED = TypeAdapter(BenchmarkStartedData), TypeAdapter(ExerciseFinishedData)
_AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,20})?")
MOST_TRIES = 5_000
"""A look of a worker reads the results of all tries. MBPP, five times each, fits."""
OWN_FILE = "file"
"""The name of the set if the file has exercises of the user."""


class BenchLaboratory:
    """See `jobs.benchmarks.Laboratory`."""

    sets: Mapping[str, bool] = {
        "custom": False,
        "humaneval": True,
        "mbpp": True,
        OWN_FILE: True,
        IMPORTED: True,
    }

    def begin(self, measurement: Measurement) -> dict[str, Any]:
        """The header, and the number of tries."""
        terms = measurement.terms
        if terms.set == IMPORTED:
            header, results = _imported(measurement)
            if len(results) > MOST_TRIES:
                raise BenchmarkRefused(f"the file has more than {MOST_TRIES:,} results")
            started = {**asdict(header), "tries": len(results)}
            self._check_imported(started, [asdict(result) for result in results])
            return started
        exercises = _exercises(measurement)
        count = len(exercises.exercises[: terms.limit])
        if count * terms.repeat > MOST_TRIES:
            rule = f"a benchmark has at most {MOST_TRIES:,} tries"
            raise BenchmarkRefused(f"{rule}, not {count * terms.repeat:,}: lower limit or repeat")
        versions = {"service": version("fettle"), "workers": [version("fettle")]}
        header = new_header(
            exercises, _request(measurement), measurement.id, measurement.began, versions
        )
        return {**asdict(header), "tries": count * terms.repeat}

    def _check_imported(self, started: Values, results: Sequence[Values]) -> None:
        """Raise BenchmarkRefused unless header and results are complete: a file may have anything,
        and pages show it."""
        try:
            _STARTED.validate_python(started)
            for result in results:
                _FINISHED.validate_python(result)
                _check_amounts(result)
            report = self.report(started, results)
            # no number that JSON lacks, and no text that UTF-8 lacks
            json.dumps([started, results, report], allow_nan=False, ensure_ascii=False).encode()
        except (ValueError, TypeError, KeyError, ArithmeticError) as error:
            text = str(error).replace("\n", " ")
            raise BenchmarkRefused(f"these are no results of `fettle bench`: {text}") from None

    def advance(
        self,
        measurement: Measurement,
        header: Values,
        results: Sequence[Values],
        jobs: ExerciseJobs,
        record: Callable[[Values], None],
    ) -> bool:
        """At most `at_once` tries are unfinished. A try that could not be measured is not tried
        again."""
        done = {(result["id"], result["repeat"]) for result in results}
        if measurement.terms.set == IMPORTED:
            for result in _imported(measurement)[1]:
                if (result.id, result.repeat) not in done:
                    record(asdict(result))
            return True
        unfinished, request = 0, _request(measurement)
        for at in _tries(measurement, header):
            if (at.exercise.id, at.repeat) in done:
                continue
            if unfinished >= measurement.terms.at_once:
                break
            try:
                result = work_on_exercise(jobs, request, at)
            except Unfinished:
                unfinished += 1
            except NotStarted:
                break  # tries start in order, so no later try has started
            else:
                record(asdict(replace(result, seconds=result.job_seconds)))
        return unfinished == 0

    def result_lines(self, header: Values, results: Sequence[Values]) -> bytes:
        """The file of results."""
        read_header, read = _measured(header, results)
        return b"".join([dump_line(read_header), *map(dump_line, read)])

    def report(self, header: Values, results: Sequence[Values]) -> dict[str, Any]:
        """The set, the settings and the summary."""
        measured = _measured(header, results)
        head = {"set": dict(measured[0].set), "settings": dict(measured[0].settings)}
        return {**head, **sum_up(*measured).as_fields()}

    def compare(
        self, first: tuple[Values, Sequence[Values]], second: tuple[Values, Sequence[Values]]
    ) -> dict[str, Any]:
        """The names of both, and a comparison for each measure."""
        both = _measured(*first), _measured(*second)
        try:
            pairs = compare(*both)
        except CliError as error:
            raise _refused(error) from None
        names = bars.names_of(*both)
        return {
            "first": names[0],
            "second": names[1],
            "measures": [pair.as_fields() for pair in pairs],
        }


LABORATORY = BenchLaboratory()


def _check_amounts(result: Values) -> None:
    """Raises ValueError."""
    cost, score = result["cost"], result["score"] or {}
    for amount in (cost.get("cost_usd"), cost.get("known_usd"), score.get("cost_usd")):
        if amount is not None and not _AMOUNT.fullmatch(amount):
            raise ValueError(f"{result['id']}: {amount[:40]!r} is no amount in US dollars")


def _measured(header: Values, results: Sequence[Values]) -> Measured:
    return header_of_fields(header), [result_of_fields(result) for result in results]


def _request(measurement: Measurement) -> MeasurementRequest:
    spec = measurement.spec
    assert spec.model is not None  # the API requires a model
    return MeasurementRequest(spec.model, repair=spec.repair, max_revisions=spec.max_revisions)


def _tries(measurement: Measurement, header: Values) -> list[Try[Exercise]]:
    """All tries, with keys of this job: a retry of a benchmark has the header of its parent."""
    exercises = _exercises(measurement).exercises[: measurement.terms.limit]
    own_header = replace(header_of_fields(header), id=measurement.id)
    return outstanding(own_header, exercises, measurement.terms.repeat, ())


def _exercises(measurement: Measurement) -> ExerciseSet:
    return _load_set(measurement.terms.set, measurement.file)


@lru_cache(maxsize=4)
def _load_set(name: str, file: tuple[str, bytes] | None) -> ExerciseSet:
    """Raises BenchmarkRefused. A published set is not downloaded here."""
    if file is None and BenchLaboratory.sets[name]:
        raise BenchmarkRefused(f"the set {name} needs a file")
    if name == OWN_FILE and file and not file[0].endswith((".jsonl", ".jsonl.gz")):
        raise BenchmarkRefused(f"{file[0]}: exercises are in a file NAME.jsonl or NAME.jsonl.gz")
    with TemporaryDirectory() as folder:
        path = None
        if file is not None:
            path = Path(folder, Path(file[0]).name)
            path.write_bytes(file[1])
        try:
            return sets.load(str(path) if name == OWN_FILE else name, path, Path(folder))
        except CliError as error:
            raise _refused(error, f"{folder}/") from None


def _imported(measurement: Measurement) -> tuple[Header, list[Result]]:
    name, content = measurement.file or ("", b"")
    try:
        return parse_results(content, name)
    except CliError as error:
        raise _refused(error) from None


def _refused(error: CliError, folder: str = "") -> BenchmarkRefused:
    text = ": ".join(filter(None, (str(error), error.detail)))
    return BenchmarkRefused(text.replace(folder, "") if folder else text)
