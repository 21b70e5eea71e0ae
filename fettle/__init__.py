"""The Python client of Fettle, a self-hosted job queue for coding agents.

It is a distribution of its own, `fettle-client`, and needs only the address of a service:

| module | holds |
|---|---|
| `_async` | the client: `AsyncClient`, `AsyncJob`, and `AsyncService` with a method for each call |
| `_sync` | `Client`, `Job` and `Service`, which `deploy/client_code.py` derives from `_async` |
| `answers`, `events` | JSON objects of answers, compared with `types` |
| `embedded` | `run`: a task in one call, by a temporary service if there is no other |
| `notebook` | the state of a job as HTML |
| `errors`, `problems` | the errors, with a class for each type of problem of the API |
| `types` | the answers and the requests of the API, generated from its schemas |
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fettle._async.client import AsyncClient as AsyncClient
    from fettle._async.job import AsyncJob as AsyncJob
    from fettle._async.job import AsyncJobFile as AsyncJobFile
    from fettle._async.job import AsyncResult as AsyncResult
    from fettle._async.service import AsyncService as AsyncService
    from fettle._sync.client import Client as Client
    from fettle._sync.job import Job as Job
    from fettle._sync.job import JobFile as JobFile
    from fettle._sync.job import Result as Result
    from fettle._sync.service import Service as Service
    from fettle.embedded import run as run

_MODULES = {
    "AsyncClient": "_async.client",
    "AsyncJob": "_async.job",
    "AsyncJobFile": "_async.job",
    "AsyncResult": "_async.job",
    "AsyncService": "_async.service",
    "Client": "_sync.client",
    "Job": "_sync.job",
    "JobFile": "_sync.job",
    "Result": "_sync.job",
    "Service": "_sync.service",
    "run": "embedded",
}
"""The module of each name. It is loaded when the name is used: `fettle.errors` alone loads fast."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
