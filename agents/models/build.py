"""Builds a model from its name."""

from __future__ import annotations

import ssl
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from urllib.parse import urljoin

import httpx
from langchain_core.language_models import BaseChatModel

from agents.errors import ModelNotConfigured
from agents.extras import install_command
from agents.models.capabilities.record import CapabilityStore, MemoryCapabilities
from agents.models.capabilities.server import ASK_SECONDS, ModelListing
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.provider import ProviderModel
from agents.models.providers import ModelConfig, Provider
from agents.models.token_bounds import MOST_OUTPUT, OutputLimit
from agents.models.transport.connection import ProviderClient, connect
from agents.ports import Role
from agents.ports.spending import Meter, ModelRateLimit, NoLimit, NoMeter
from agents.recordings.recorded_model import RecordedModel
from agents.recordings.recording import load

CallableModel = ProviderModel | RecordedModel
"""Each has `for_call`, which sets the guard and the listener of one call, and `sees_images`."""


def build(
    name: ModelName,
    options: ModelOptions,
    role: Role,
    tls: ssl.SSLContext | None = None,
    rate_limit: ModelRateLimit | None = None,
    meter: Meter | None = None,
    capabilities: CapabilityStore | None = None,
) -> CallableModel:
    """The model that answers `role`; imports its provider's library on first use.

    Takes 30 to 80 ms of CPU, mostly for a TLS context if `tls` is None: build once and call often
    (`ModelPool`). Raises ModelNotConfigured if the key, the address, the library or the
    recording is missing.
    """
    if name.is_recording:
        recording = load(options.recordings, name.model)
        return RecordedModel(recording=recording, role=role, redaction=options.redaction)
    ready(name, options)
    tls = tls or httpx.create_ssl_context()
    server = options.server(name, capabilities or MemoryCapabilities())
    shipped = options.is_public(name)
    http = connect(tls, name.of.protocol, options.times, server, shipped=shipped)
    config = ModelConfig(
        model=name.model,
        api_key=options.api_key(name),
        base_url=options.base_url(name),
        max_output_tokens=options.max_output_tokens or MOST_OUTPUT,
        temperature=options.temperature,
        tls=tls,
        http=http,
        context=options.context(name, {}),
        settings=options.settings(name),
        name_setting=options.setting_namer(name),
    )
    inner, output_limit = _within_its_limits(name, options, config)
    return ProviderModel(
        inner=inner,
        http=http,
        retry_policy=options.retry_policy,
        full_name=str(name),
        name_setting=options.setting_namer(name),
        output_limit=output_limit,
        known_context=options.context(name, inner.profile or {}),
        server=server,
        listing=_listing(name, options, http),
        rate_limit=rate_limit or NoLimit(),
        meter=meter or NoMeter(),
        redaction=options.redaction,
        caching=dict(name.of.caching),
    )


def _listing(name: ModelName, options: ModelOptions, http: ProviderClient) -> ModelListing | None:
    """The list of models of a server that the operator chose."""
    address = options.base_urls.get(name.provider)
    if address is None or not name.of.lists:
        return None
    key = options.api_key(name)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    urls = [urljoin(f"{address.rstrip('/')}/", path) for path in name.of.lists]
    read = partial(http.read_json, seconds=ASK_SECONDS, headers=headers)
    return ModelListing(read, name.model, urls)


def _within_its_limits(
    name: ModelName, options: ModelOptions, config: ModelConfig
) -> tuple[BaseChatModel, OutputLimit]:
    """The client, and its limit on output tokens. Only the client knows the model's own limit, so a
    client with a higher limit is made again."""
    inner = name.of.make(config)
    limit = options.output_limit(name, inner.profile or {})
    if limit.most == config.max_output_tokens + limit.thinking:
        return inner, limit
    most = max(1, limit.most - limit.thinking)
    return name.of.make(replace(config, max_output_tokens=most)), limit


def ready(name: ModelName, options: ModelOptions) -> None:
    """Raise ModelNotConfigured if the key, the address, the library or the recording is missing."""
    if name.is_recording:
        load(options.recordings, name.model)
        return
    options.api_key(name)
    options.base_url(name)
    if not installed(name.of):
        raise ModelNotConfigured(
            f"{name} needs a library; install it with: {install_command(name.of.extra)}"
        )


def installed(provider: Provider) -> bool:
    """Whether its library is installed. Imports nothing."""
    return provider.package is None or find_spec(provider.package) is not None
