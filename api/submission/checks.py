"""Acceptance checks of a request: their common limits, and how they are stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from api.schemas.checks import MOST_BYTES, CaseRequest, ChecksRequest
from api.schemas.problem import FieldError
from api.submission.paths import path_errors
from jobs.blobs import manifest
from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import checked_path
from jobs.model.spec import CASES_PATH, CheckSpec


def errors(checks: ChecksRequest) -> Iterator[FieldError]:
    """The errors in the checks, by field."""
    total = sum(len(text.encode(errors="replace")) for text in checks.files.values())
    total += sum(len(case.model_dump_json(exclude_defaults=True)) for case in checks.cases)
    if total > MOST_BYTES:
        message = f"all together may have at most {MOST_BYTES} bytes, not {total}"
        field = "checks.files" if checks.files else "checks.cases"
        yield FieldError(field=field, message=message, limit=MOST_BYTES)
    yield from path_errors([*checks.files, CASES_PATH], "checks.files")
    ids = _ids(checks)
    for number, case in enumerate(checks.cases):
        if ids[number] in ids[:number]:
            message = f"another case is named {ids[number]!r}"
            yield FieldError(field=f"checks.cases.{number}.name", message=message)
        yield from path_errors(case.files, f"checks.cases.{number}.files")
        yield from path_errors(case.expect_files, f"checks.cases.{number}.expect_files")


async def save(blobs: Blobs, checks: ChecksRequest) -> CheckSpec:
    """Store the checks for the worker."""
    files = {path: text.encode() for path, text in checks.files.items()}
    paths = tuple(sorted(map(checked_path, files)))
    if checks.cases:
        files[CASES_PATH] = json.dumps([_plain(case) for case in checks.cases]).encode()
    kept = await manifest.save(blobs, files)
    assert kept is not None  # noqa: S101 - there is a file or a case at least
    return CheckSpec(kept, paths, checks.command, _ids(checks))


def _ids(checks: ChecksRequest) -> tuple[str, ...]:
    """The cases' ids, as `agents.checks.cases.read` makes them."""
    return tuple(f"case {case.name or number}" for number, case in enumerate(checks.cases, 1))


def _plain(case: CaseRequest) -> dict[str, Any]:
    """The case as requested, with normalized paths."""
    plain = case.model_dump(exclude_defaults=True)
    for each in ("files", "expect_files"):
        if each in plain:
            plain[each] = {checked_path(path): text for path, text in plain[each].items()}
    return plain
