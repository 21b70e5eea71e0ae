"""Requests for benchmarks: their errors."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from api.http.body import FormParts
from api.schemas.job_request import JobRequest
from api.schemas.problem import FieldError
from api.submission.validation import FIELDS_OF_BENCHMARK, inline_files, kept_files
from jobs.benchmarks import (
    IMPORTED,
    BenchmarkRefused,
    Laboratory,
    LaboratoryMissing,
    Measurement,
    load_laboratory,
)
from jobs.model.spec import JobSpec


def benchmark_errors(request: JobRequest, spec: JobSpec, parts: FormParts) -> list[FieldError]:
    """The errors of a request for a benchmark. Reads its exercises: use a thread."""
    try:
        return list(_errors(request, spec, parts, load_laboratory()))
    except LaboratoryMissing as error:
        return [FieldError(field="benchmark", message=str(error))]


def _errors(
    request: JobRequest, spec: JobSpec, parts: FormParts, laboratory: Laboratory
) -> Iterator[FieldError]:
    terms = spec.benchmark
    assert terms is not None  # noqa: S101 - the caller has checked it
    default = JobRequest.model_construct(task="")
    for name in sorted(request.model_fields_set - FIELDS_OF_BENCHMARK):
        if getattr(request, name) not in (None, getattr(default, name)):
            yield FieldError(field=name, message="does not go with a benchmark: leave it out")
    if parts.bundle is not None:
        yield FieldError(field="bundle", message="does not go with a benchmark: leave it out")
    if terms.set not in laboratory.sets:
        names = ", ".join(laboratory.sets)
        message = f"there is no such set: name one of {names}"
        yield FieldError(field="benchmark.set", message=message, limit=list(laboratory.sets))
        return
    if spec.model is None and terms.set != IMPORTED:
        yield FieldError(field="model", message="name the model that is measured")
    if terms.budget_usd is not None and not Decimal(terms.budget_usd):
        message = "a benchmark needs more than 0 US dollars; leave it out for no limit"
        yield FieldError(field="benchmark.budget_usd", message=message)
    yield from _file_errors(request, spec, parts, laboratory)


def _file_errors(
    request: JobRequest, spec: JobSpec, parts: FormParts, laboratory: Laboratory
) -> Iterator[FieldError]:
    terms = spec.benchmark
    assert terms is not None  # noqa: S101 - the caller has checked it
    texts = {path: text.encode() for path, text in inline_files(request).items()}
    files, stored_files = {**texts, **parts.files}, kept_files(request)
    count, file_count = len(files) + len(stored_files), int(laboratory.sets[terms.set])
    if count != file_count:
        rule = "needs exactly one file" if file_count else "has its exercises: send no file"
        yield FieldError(field="files", message=f"the set {terms.set} {rule}")
    elif not stored_files and (spec.model is not None or terms.set == IMPORTED):
        file = next(iter(files.items()), None)
        try:
            laboratory.begin(Measurement("", spec, file, ""))
        except BenchmarkRefused as error:
            yield FieldError(field="files", message=str(error)[:500])
