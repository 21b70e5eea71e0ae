"""The settings that a temporary service takes over from the command that starts it."""

from __future__ import annotations

import json
import os
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import NoDecode

from settings.base import FettleSettings, FleetSettings
from settings.reading.config_file import named_file, read_file
from settings.reviews import DeliverySettings
from settings.starting.provenance import spellings, variable
from settings.webhooks import WebhookSettings
from settings.worker import WorkerSettings

DEPLOYMENT_RULES: tuple[type[FettleSettings], ...] = (
    FleetSettings,
    DeliverySettings,
    WebhookSettings,
)
"""Rules of a deployment, and addresses to which it sends results."""
LOCAL_SETTINGS = frozenset(
    {
        *("env", "redis_url", "redis_replicas", "broker_url", "data_dir", "repo_dir"),
        *("blobs_bucket", "s3_endpoint", "s3_region", "s3_access_key", "s3_secret_key"),
        *("deliver_hosts", "drain_seconds", "worker_metrics_port", "worker_metrics_host"),
    }
)
"""Servers, folders and ports of a deployment."""


def carried_settings() -> dict[str, str]:
    """The settings of workers that this process was started with, without the rules and the servers
    of a deployment: by variable, from the environment or the named file.

    Raises ConfigFileError.
    """
    file = read_file(named_file())
    left_out = {name for kind in DEPLOYMENT_RULES for name in kind.model_fields} | LOCAL_SETTINGS
    carried: dict[str, str] = {}
    for name, field in WorkerSettings.model_fields.items():
        if name in left_out:
            continue
        names = spellings(name, field)
        main = variable(WorkerSettings, name, field)
        upper = {main, *(spelling.upper() for spelling in names - {name})}
        if present := {key: text for key, text in os.environ.items() if key.upper() in upper}:
            carried |= present
        elif in_file := sorted(names & file.keys()):
            carried[main] = _as_text(file[in_file[0]], field)
    return carried


def _as_text(value: Any, field: FieldInfo) -> str:
    """A value of the file in the form of the environment."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and NoDecode in field.metadata:
        return ",".join(map(str, value))
    return json.dumps(value)
