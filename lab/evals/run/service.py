"""The service of a measurement: a running one, or a temporary one.

A temporary service keeps its jobs in a folder next to the results until all are done, so that an
interrupted measurement continues with them, and no call is paid again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cli.context import load
from cli.local.throwaway import throwaway
from cli.output import Screen
from fettle import Service
from settings.client import ClientSettings
from settings.sandbox import SandboxSettings
from settings.starting.carried import carried_settings

PATIENT_TRIES = 200
"""The patience in seconds: a measurement may take hours, and must survive a busy minute."""
RUN_SECONDS = 120.0
"""The least wall-clock limit of a run in a temporary service. The slowest published solution
(MBPP/123) needs 8 s of processor time, which takes longer on a busy machine. The limit on processor
time still ends a loop."""

NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


def named_service(flags: Mapping[str, Any]) -> ClientSettings | None:
    """The running service of a flag or a setting, or None."""
    settings = load(ClientSettings, **flags)
    return settings if "url" in settings.model_fields_set else None


@contextmanager
def running(
    settings: ClientSettings | None,
    screen: Screen,
    keep: Path | None,
    models: tuple[str, ...] = (),
    environment: Mapping[str, str] = NO_VARIABLES,
) -> Iterator[Service]:
    """The named service, else a temporary one with the folder `keep`, which may use `models`. It
    has the settings of this process, but for its servers, folders and ports, and for the
    `environment`."""
    if settings is not None:
        key = settings.api_key.get_secret_value()
        with Service(settings.url, key, tries=PATIENT_TRIES) as running:
            yield running
        return
    run_seconds = max(SandboxSettings().run_seconds, RUN_SECONDS)
    limits = {"FETTLE_RATE_LIMIT": "1000000/minute", "FETTLE_RUN_SECONDS": str(run_seconds)}
    env = {**carried_settings(), **limits, **environment}
    if models:
        env["FETTLE_MODELS"] = json.dumps(models)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True, mode=0o700)
    workers = min(max(os.cpu_count() or 1, 1), 4)
    with throwaway(screen, workers=workers, env=env, keep=keep) as service:
        yield service


def forget(keep: Path) -> None:
    """Remove a temporary service's folder, after everything was measured."""
    shutil.rmtree(keep, ignore_errors=True)
