"""The file of a measurement's results, and whether it continues an earlier one."""

from __future__ import annotations

import platform
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lab.evals.errors import BadResults
from lab.evals.report.results import Header, Result, ResultFile, read_results
from lab.evals.report.statistics import RESAMPLES, SEED
from lab.evals.run.request import MeasurementRequest
from lab.evals.sources.exercise import Task, TaskSet

_UNSAFE = re.compile(r"[^A-Za-z0-9.]+")


def result_path(folder: Path, of: TaskSet[Task], request: MeasurementRequest) -> Path:
    """The file of this measurement: the same command finds the same file."""
    options = ("write_tests", "parallel", "follow_up")
    parts = [
        of.name,
        request.model,
        "" if request.repair else "no-repair",
        *(name.replace("_", "-") for name in options if getattr(request, name)),
        request.judge or "",
    ]
    name = "_".join(_UNSAFE.sub("-", part).strip("-") for part in parts if part)
    return folder / f"{name}.jsonl"


def put_aside(file: Path) -> None:
    """Rename an earlier file of results, for a new one."""
    if not file.exists():
        return
    number = 1
    while (aside := file.with_suffix(f".{number}.jsonl")).exists():
        number += 1
    file.rename(aside)


def begin(
    file: ResultFile, of: TaskSet[Task], request: MeasurementRequest, system: Mapping[str, Any]
) -> tuple[Header, Sequence[Result]]:
    """The header of a file, written if it is new, and its results so far.

    Raises BadResults if it belongs to another measurement.
    """
    if not file.is_started:
        header = new_header(of, request, secrets.token_hex(8), _now(), system_versions(system))
        file.write(header)
        return header, ()
    header, results = read_results(file.path)
    requested = {"digest": of.digest, **asdict(request)}
    recorded = {"digest": header.set["digest"], **header.settings}
    differing = [
        name
        for name, value in requested.items()
        if (recorded.get(name) or None) != (value or None)  # older files lack the newer options
    ]
    if differing:
        fields_text = ", ".join("the exercises" if name == "digest" else name for name in differing)
        raise BadResults(
            f"{file.path} belongs to another measurement",
            f"different: {fields_text}",
            "use another --out, or --fresh to rename it",
        )
    return header, results


def new_header(
    of: TaskSet[Task],
    request: MeasurementRequest,
    measurement_id: str,
    began: str,
    versions: Mapping[str, Any],
) -> Header:
    """The header of a measurement. `versions`: of the service and its workers."""
    return Header(
        id=measurement_id,
        set={
            "name": of.name,
            "source": of.source,
            "digest": of.digest,
            "exercises": len(of.exercises),
        },
        settings=asdict(request),
        versions={
            "fettle": version("fettle"),
            "python": platform.python_version(),
            **versions,
            "bootstrap": {"seed": SEED, "resamples": RESAMPLES},
        },
        began=began,
    )


def system_versions(system: Mapping[str, Any]) -> dict[str, Any]:
    """The versions of a service and its workers, by its GET /system."""
    return {
        "service": system.get("version"),
        "workers": sorted({str(w.get("version")) for w in system.get("workers") or ()}),
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
