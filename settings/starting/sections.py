"""Every settings class, under the title that it has in docs/configuration.md."""

from __future__ import annotations

from settings.api import ApiSettings
from settings.audit import AuditSettings
from settings.base import FettleSettings, FleetSettings, StoreSettings
from settings.client import ClientSettings, UpSettings
from settings.models import ModelSettings, RoutingSettings
from settings.money import MoneySettings
from settings.providers import RateSettings
from settings.repositories import RepositorySettings
from settings.sandbox import SandboxSettings
from settings.tools import ToolSettings
from settings.webhooks import WebhookSettings
from settings.worker import WorkerSettings

SECTIONS: tuple[tuple[str, type[FettleSettings]], ...] = (
    ("API and workers", StoreSettings),
    ("API", ApiSettings),
    ("Workers", WorkerSettings),
    ("The fleet", FleetSettings),
    ("Models", ModelSettings),
    ("Routing", RoutingSettings),
    ("Money", MoneySettings),
    ("Rate limits", RateSettings),
    ("Tools", ToolSettings),
    ("Repositories", RepositorySettings),
    ("Webhooks", WebhookSettings),
    ("The audit log", AuditSettings),
    ("The sandbox", SandboxSettings),
    ("The command line", ClientSettings),
    ("`fettle up`", UpSettings),
)

SHARED = [
    kind for _, kind in SECTIONS if issubclass(WorkerSettings, kind) and kind is not WorkerSettings
]
"""Classes that are part of other classes. The page shows their settings once."""
