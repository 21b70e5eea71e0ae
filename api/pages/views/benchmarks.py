"""The pages of benchmarks: their history, a form that starts one, reports and comparisons.

See ADR 94.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from api import problems
from api.pages.format.benchmark_plot import plots_of
from api.pages.job_form import RefusedForm, submit_form
from api.pages.rendering import go_to, render_page, render_page_in_thread
from api.pages.views.deployment import offered_models
from api.pages.visitor import Author, Reader, Submitter, Visitor
from api.problems import RefusedRequest
from api.routes import jobs as jobs_api
from api.schemas.benchmark import BenchmarkRequest
from api.services import Services, ServicesDep, find_job
from jobs.benchmarks import (
    REPORT_FILE,
    RESULTS_FILE,
    BenchmarkRefused,
    Laboratory,
    LaboratoryMissing,
    Values,
    known_cost,
    load_laboratory,
)
from jobs.model.record import JobRecord
from jobs.model.spec import JobKind
from jobs.view.job import render_summary

router = APIRouter(prefix="/benchmarks")
ROWS = 50
MAX_RESULTS = 300
"""The results that a page shows, which it reads again every few seconds."""
TERMS = tuple(BenchmarkRequest.model_fields)
NO_ERRORS: Mapping[str, str] = MappingProxyType({})


@router.get("")
async def history(
    services: ServicesDep,
    visitor: Reader,
    number: Annotated[int, Query(alias="page", ge=1, le=1_000)] = 1,
) -> Response:
    """The benchmarks, newest first, and the form that starts one."""
    return await _render_history(services, visitor, number)


@router.post("")
async def start(request: Request, services: ServicesDep, visitor: Author) -> Response:
    """Start a benchmark, and go to its page. A 422 shows the errors above the form."""
    try:
        submitted = await submit_form(request, services, visitor, _job_values)
    except RefusedForm as form:
        errors = [_error_text(error) for error in form.refused.more.get("errors", ())]
        return await _render_history(
            services, visitor, 1, form.texts, errors or [form.refused.detail]
        )
    return go_to(request, f"/app/benchmarks/{submitted.record.id}")


@router.get("/compare")
async def compare(
    services: ServicesDep, visitor: Reader, job: Annotated[list[str], Query(max_length=10)]
) -> Response:
    """The differences of two benchmarks of the same exercises, the older benchmark first."""
    if len(job) != 2:
        raise RefusedRequest(problems.BAD_REQUEST, "select two benchmarks to compare them")
    laboratory = await _laboratory()
    records = [await _find_benchmark(services, visitor, job_id) for job_id in job]
    records.sort(key=lambda record: record.created_at)
    (first, first_results), (second, second_results) = [
        await _read_results(services, record) for record in records
    ]
    if first is None or second is None:
        raise RefusedRequest(problems.BAD_REQUEST, "a benchmark has no result yet")
    try:
        comparison = await asyncio.to_thread(
            laboratory.compare, (first, first_results), (second, second_results)
        )
    except BenchmarkRefused as error:
        raise RefusedRequest(problems.BAD_REQUEST, str(error)) from None
    jobs_by_exercise = [
        {result["id"]: result["job"] for result in results}
        for results in (first_results, second_results)
    ]
    values = {"records": records, "comparison": comparison, "jobs": jobs_by_exercise}
    return await render_page_in_thread("benchmark_compare.html", visitor, **values)


@router.get("/{job_id}")
async def report(job_id: str, services: ServicesDep, visitor: Reader) -> Response:
    """The report of a benchmark. While the benchmark runs, the page reads itself again."""
    record = await _find_benchmark(services, visitor, job_id)
    header, results = await _read_results(services, record)
    report: Values | None = record.result.benchmark if record.result else None
    missing = ""
    if report is None and header is not None:
        try:
            laboratory = await _laboratory()
            report = await asyncio.to_thread(laboratory.report, header, results)
        except RefusedRequest as refused:
            missing = refused.detail
    return await render_page_in_thread(
        "benchmark.html",
        visitor,
        job=_summary(record, await services.store.now()),
        spec=record.spec,
        terms=record.spec.benchmark,
        header=header,
        results=results[-MAX_RESULTS:],
        result_count=len(results),
        report=report,
        missing=missing,
        detail=record.detail,
        answer=record.result.answer if record.result else "",
        known_cost=f"{sum(known_cost(result['cost']) for result in results):f}",
        files=(RESULTS_FILE, REPORT_FILE) if record.result else (),
    )


@router.post("/{job_id}/cancel")
async def cancel(
    job_id: str, request: Request, services: ServicesDep, visitor: Submitter
) -> Response:
    """Cancel the benchmark and its exercises."""
    await jobs_api.cancel(job_id, services, visitor.credential)
    return go_to(request, f"/app/benchmarks/{job_id}")


async def _render_history(
    services: Services,
    visitor: Visitor,
    number: int,
    values: Mapping[str, str] = NO_ERRORS,
    errors: Sequence[str] = (),
) -> Response:
    tenant, offset = visitor.credential.tenant, (number - 1) * ROWS
    page, now = await asyncio.gather(
        services.store.page(tenant, limit=ROWS, offset=offset, kind=JobKind.BENCHMARK),
        services.store.now(),
    )
    rows = [
        {
            **_summary(record, now),
            "terms": record.spec.benchmark,
            "report": record.result.benchmark if record.result else None,
        }
        for record in page.records
    ]
    sets: Mapping[str, bool] = {}
    missing = ""
    try:
        sets = (await _laboratory()).sets
    except RefusedRequest as refused:
        missing = refused.detail
    return await asyncio.to_thread(
        render_page,
        "benchmarks.html",
        visitor,
        status=422 if errors else 200,
        rows=rows,
        plots=plots_of(rows),
        total=page.total,
        number=number,
        pages=max(-(-page.total // ROWS), 1),
        models=await offered_models(services),
        sets=sets,
        missing=missing,
        values=values,
        errors=errors,
    )


def _summary(record: JobRecord, now: int) -> dict[str, Any]:
    """The job in a listing. A benchmark that rests between two looks is running."""
    summary = render_summary(record, (), now)
    is_running = record.started_at is not None and not record.status.final
    progress = record.wait.why if record.wait else ""
    return {
        **summary,
        "status": "running" if is_running else summary["status"],
        "progress": progress,
    }


def _job_values(texts: Mapping[str, str]) -> dict[str, Any]:
    """The body of POST /jobs. Empty fields are left out. Exercises let other jobs go first."""
    terms = {name: texts[name] for name in TERMS if texts.get(name)}
    model = texts.get("other_model", "").strip() or texts.get("model", "")
    values = {"task": texts.get("task", "").strip() or f"Benchmark: {terms.get('set', '')}"}
    if model:
        values["model"] = model
    first_only = {"repair": False} if texts.get("first_only") else {}
    return {**values, **first_only, "priority": "low", "benchmark": terms}


def _error_text(error: Any) -> str:
    fields = error if isinstance(error, dict) else error.model_dump()
    return f"{fields['field'].removeprefix('benchmark.')}: {fields['message']}"


async def _laboratory() -> Laboratory:
    """Raises RefusedRequest, a 422 with the remedy, if it is not installed."""
    try:
        return await asyncio.to_thread(load_laboratory)
    except LaboratoryMissing as error:
        raise RefusedRequest(problems.INVALID, str(error)) from None


async def _find_benchmark(services: Services, visitor: Visitor, job_id: str) -> JobRecord:
    """Raises RefusedRequest: 404."""
    record = (await find_job(services, visitor.credential, job_id)).record
    if record.spec.kind is not JobKind.BENCHMARK:
        raise RefusedRequest(problems.NOT_FOUND, "this job is no benchmark")
    return record


async def _read_results(
    services: Services, record: JobRecord
) -> tuple[Values | None, list[dict[str, Any]]]:
    """The header, None before the first attempt, and the results so far."""
    events = await services.store.events(record.id)
    header = next((event.data for event in events if event.kind == "benchmark_started"), None)
    results = [dict(event.data) for event in events if event.kind == "exercise_finished"]
    return header, results
