"""The rules for all workers: read from their record, checked and changed by the operator.

See ADR 72.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import structlog
from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from api import problems
from api.auth.caller import Operator
from api.http.answers import as_json
from api.http.body import read_json
from api.http.field_errors import refuse
from api.openapi import body_responses, responses, with_body
from api.problems import RefusedRequest
from api.schemas.deployment import Fleet, FleetChange, FleetRequest, FleetSetting
from api.schemas.job_defaults import parse_defaults
from api.schemas.problem import FieldError
from api.services import Services, ServicesDep
from api.submission.validation import check_defaults
from jobs.model.credentials import Credential
from jobs.model.fleet import FleetRecord, first_record
from jobs.view.job import format_time
from settings.api import ApiSettings
from settings.base import FleetSettings

log = structlog.get_logger(__name__)
router = APIRouter(tags=["system"])


@router.get(
    "/fleet",
    operation_id="read_fleet",
    response_model=Fleet,
    summary="The rules for all workers",
    responses=responses(problems.FLEET_UNREADABLE),
)
async def fleet(services: ServicesDep, caller: Operator) -> Response:  # noqa: ARG001 - who may
    """Leases, retries and retention as they count for every worker, and who changed them.

    If the environment of a worker differs, GET /system has the values that the worker ignores.
    """
    return as_json(_fleet_json(await services.store.fleet.read()))


@router.put(
    "/fleet",
    operation_id="change_fleet",
    response_model=Fleet,
    summary="Change the rules for all workers",
    responses=body_responses(
        problems.FLEET_CHANGED, problems.REMOVES_JOBS, problems.FLEET_UNREADABLE
    ),
    openapi_extra=with_body(FleetRequest),
)
async def change_fleet(request: Request, services: ServicesDep, caller: Operator) -> Response:
    """Set some of the rules, which workers follow within seconds, and of the defaults for new jobs.

    The change names the version that it is based on: if another change came first, the answer is a
    409. A shorter retention that would remove finished jobs at once is a 409 with their number,
    unless `accept_removal` allows as many.
    """
    change, _ = await read_json(request, FleetRequest, services.settings)
    return as_json(await _change(services, change, caller))


async def _change(services: Services, change: FleetRequest, caller: Credential) -> Fleet:
    """Set some of the rules; the rules afterwards. Raises RefusedRequest: 409, 422."""
    record = await services.store.fleet.read()
    if change.version != (record.version if record else 0):
        raise _changed(record)
    values = change.settings.model_dump(exclude_none=True)
    if change.defaults is not None:
        terms = dict(record.rules.defaults) if record else {}
        terms |= change.defaults.model_dump(mode="json", exclude_unset=True)
        values["defaults"] = {name: term for name, term in terms.items() if term is not None}
        check_defaults(parse_defaults(values["defaults"]), services.settings)
    if not values:
        message = "it names no setting: GET /fleet lists the settings"
        refuse([FieldError(field="settings", message=message)])
    before = _values_of(record)
    _check(values, before, services.settings)
    days = values.get("retention_days", before["retention_days"])
    if record is None or days < record.rules.retention_days:
        await _check_removal(services, days, change.accept_removal)
    store = services.store
    now, by, key_id = await store.now(), caller.name, caller.id
    if record is None:
        after = first_record({**before, **values}, now, by=by, key_id=key_id)
    else:
        after = record.changed(values, now, by=by, key_id=key_id)
    if not await store.fleet.replace(after, caller.person):
        raise _changed(await services.store.fleet.read())
    log.info("fleet settings changed", version=after.version, **values)
    return _fleet_json(after)


def _values_of(record: FleetRecord | None) -> dict[str, Any]:
    return asdict(record.rules) if record else FleetSettings.model_construct().fleet_values()


def _check(values: Mapping[str, Any], before: Mapping[str, Any], settings: ApiSettings) -> None:
    """Raise RefusedRequest (422) for values that a worker would refuse as its own."""
    try:
        FleetSettings(**{**before, **values})
    except ValidationError as error:
        refuse(
            FieldError(
                field=".".join(("settings", *map(str, wrong["loc"]))),
                message=str(wrong["msg"]).removeprefix("Value error, "),
            )
            for wrong in error.errors(include_url=False, include_input=False)
        )
    both = {**before, **values}
    longest = settings.max_timeout_seconds + both["overdue_seconds"]
    if "blob_grace_seconds" in values and values["blob_grace_seconds"] <= longest:
        message = (
            f"an attempt may take {longest:g} s (FETTLE_MAX_TIMEOUT_SECONDS plus overdue_seconds): "
            f"files of a running job could be removed. Set it to {2 * longest:g}"
        )
        refuse([FieldError(field="settings.blob_grace_seconds", message=message)])
    seen_seconds = settings.worker_seen_seconds
    if "heartbeat_seconds" in values and seen_seconds < 2 * values["heartbeat_seconds"]:
        message = (
            f"FETTLE_WORKER_SEEN_SECONDS is {seen_seconds:g}: a worker would count as stopped "
            f"after one late heartbeat. Set it to {seen_seconds / 2:g} or less"
        )
        refuse([FieldError(field="settings.heartbeat_seconds", message=message)])


async def _check_removal(services: Services, days: float, accepted: int) -> None:
    """Raise RefusedRequest (409) if this retention would remove more jobs than is accepted."""
    removed = await services.store.fleet.count_finished(int(days * 86_400_000))
    if removed > accepted:
        detail = (
            f"retention_days {days:g} would remove {removed} finished jobs at once, forever: keep "
            f"jobs for longer, or send the change with accept_removal {removed}"
        )
        raise RefusedRequest(problems.REMOVES_JOBS, detail, {"limit": removed})


def _changed(record: FleetRecord | None) -> RefusedRequest:
    version = record.version if record else 0
    detail = f"the settings have version {version} now: read them, and send the change again"
    return RefusedRequest(problems.FLEET_CHANGED, detail, {"limit": version})


def _fleet_json(record: FleetRecord | None) -> Fleet:
    values = _values_of(record)
    settings = [
        FleetSetting(
            name=name,
            value=values[name],
            default=field.get_default(),
            description=field.description or "",
        )
        for name, field in FleetSettings.model_fields.items()
    ]
    changes = [
        FleetChange(**{**asdict(change), "at": format_time(change.at)})
        for change in reversed(record.changes if record else ())
    ]
    defaults = values.get("defaults", {})
    version = record.version if record else 0
    return Fleet(version=version, settings=settings, defaults=defaults, changes=changes)
