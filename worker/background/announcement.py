"""The facts that a worker publishes about itself: sandbox layers, models with keys, version, graph
format."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from decimal import Decimal
from importlib.metadata import version
from typing import Any, get_args

from agents.errors import ModelError
from agents.graph.checkpoint_format import READS, WRITES
from agents.models.build import ready
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.providers import PROVIDERS
from agents.models.providers.kind import KEY
from agents.models.role_models import Chains
from agents.ports import Role
from agents.ports.spending import Usage
from agents.spending.pricing import Prices
from jobs.blobs.directory import digest_bytes
from settings.starting.environment import library_variables
from settings.starting.provenance import trace_values
from settings.starting.release import release
from settings.worker import WorkerSettings
from worker.adapters.budget import prices
from worker.adapters.models import chains
from worker.adapters.tools import tools
from worker.context import model_options
from worker.repositories import git
from worker.repositories.hosts import RepositoryHosts, lacks

REQUEST_TOKENS = 8_000
"""The tokens that a small job needs before its last reply, with the reservation of its request
(`agents.models.token_bounds`)."""
LIMITS = (
    "max_job_cost_usd",
    "max_job_tokens",
    "key_cost_usd_per_day",
    "key_tokens_per_day",
    "tenant_cost_usd_per_day",
    "tenant_tokens_per_day",
)
"""Settings that limit what jobs may spend."""
_SAMPLE = 1_000
"""The tokens of a price sample: some models have a higher price for a million tokens."""
_MILLION = Decimal(1_000_000)


def announcement(settings: WorkerSettings) -> Mapping[str, Any]:
    """The facts that do not change while the worker runs."""
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "version": version("fettle"),
        "release": release(),
        "graph": {"writes": WRITES, "reads": sorted(READS)},
        "slots": settings.concurrency,
        "workspace_bytes": settings.workspace_bytes,
        "call_tokens": settings.least_reply_tokens + REQUEST_TOKENS,
        "tools": [
            *(body.__name__ for body in tools(settings)),
            *(name for server in settings.mcp_servers for name in server.tools_by_name),
        ],
        "dropped_variables": library_variables(),
        "shared_settings": _shared_settings(settings),
        "settings": [asdict(s) for s in trace_values(settings, {}) if s.origin != "default"],
        "repositories": _repositories(settings),
        "models": model_catalogue(chains(settings), model_options(settings), prices(settings)),
    }


Facts = dict[str, Any]


def _shared_settings(settings: WorkerSettings) -> Facts:
    """Settings that must be equal at all workers, because each worker uses its own settings for all
    jobs. The webhook's address may be secret: its digest is enough for a comparison."""
    limits = {name: getattr(settings, name) for name in LIMITS}
    url = settings.webhook_url
    return {
        **{name: None if limit is None else float(limit) for name, limit in limits.items()},
        "webhook_url": url and digest_bytes(url.encode()),
        "webhook_format": settings.webhook_format,
        "webhook_labels": ", ".join(sorted(settings.webhook_labels)),
        "public_url": settings.public_url,
        "smtp_url": settings.smtp_url and str(settings.smtp_url),
        "smtp_from": settings.smtp_from,
    }


def _repositories(settings: WorkerSettings) -> Facts:
    """Whether jobs on repositories work at this worker, and the hosts of repositories, dependencies
    and deliveries."""
    git_version = git.version()
    fault = git.fault(git_version)
    return {
        "git": ".".join(map(str, git_version)) if git_version else None,
        "works": fault is None,
        "why": fault,
        "hosts": list(settings.repo_hosts),
        "lacks": lacks(RepositoryHosts.from_settings(settings)),
        "delivers": list(settings.deliver_hosts),
        "setups": list(settings.setup_sources),
    }


def model_catalogue(chains: Chains, options: ModelOptions, prices: Prices) -> Facts:
    """The models that a worker announces.

    `roles`: the chains of each role, by level. `offered`: each model in them, with its prices in
    USD per million tokens (null: unknown) and its missing requirements (`missing`, or null).
    `providers`: each provider, with its missing requirements. `capabilities`: the operator's
    settings of servers' capabilities.
    """
    roles = {role: _levels(chains, role) for role in get_args(Role)}
    names = dict.fromkeys(name for levels in roles.values() for chain in levels for name in chain)
    return {
        "default": ", ".join(chains.default) or None,
        "keys": sorted(name for name, row in PROVIDERS.items() if options.has_key(row)),
        "recordings": sorted(path.stem for path in options.recordings.glob("*.yaml")),
        "roles": roles,
        "offered": [_offered(name, options, prices) for name in names],
        "providers": list(_providers(options)),
        "capabilities": options.capabilities,
    }


def _levels(chains: Chains, role: str) -> list[list[str]]:
    try:
        return [list(chains.of(role, level)) for level in range(chains.levels(role))]
    except ModelError:
        return []


def _offered(text: str, options: ModelOptions, prices: Prices) -> Facts:
    facts: Facts = {"name": text, "input_usd": None, "output_usd": None}
    try:
        name = ModelName.parse(text)
    except ModelError as error:
        return {**facts, "missing": str(error)}
    return {
        **facts,
        "input_usd": _for_a_million(prices.of(name, Usage(_SAMPLE, 0))),
        "output_usd": _for_a_million(prices.of(name, Usage(0, _SAMPLE))),
        "missing": _missing(name, options),
    }


def _providers(options: ModelOptions) -> Iterator[Facts]:
    for provider in PROVIDERS.values():
        name = ModelName(provider.name, "any")
        yield {
            "name": provider.name,
            "key": options.setting_namer(name)(KEY),
            "has_key": options.has_key(provider),
            "missing": _missing(name, options),
        }


def _missing(name: ModelName, options: ModelOptions) -> str | None:
    try:
        ready(name, options)
    except ModelError as error:
        return str(error).partition(" needs ")[2] or str(error)
    return None


def _for_a_million(cost: Decimal | None) -> str | None:
    return None if cost is None else format((cost * _MILLION / _SAMPLE).normalize(), "f")
