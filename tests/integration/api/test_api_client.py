"""Clients that two generators make from /openapi.json: every operation has types, and a client
works with the API and a real worker.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

import httpx
import pytest
from support.graph.recorded import one_run
from support.processes.deployment import Deployment, running_deployment
from support.processes.fronts import front

from api.app import create_app
from settings.api import ApiSettings
from settings.base import DEVELOPMENT_KEY

SCRIPTS = Path(sys.executable).parent
PACKAGE = "fettle_client_of_a_test"
Generated = Any
"""The package's operations by name, and its `schemas`."""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with running_deployment(tmp_path_factory.mktemp("deployment")) as deployment:
        deployment.record("once", one_run("once", "print('x')"))
        deployment.worker()
        yield deployment


@pytest.fixture(scope="module")
def url(deployment: Deployment) -> Iterator[str]:
    with front(deployment) as api:
        yield api.url


@dataclass(frozen=True)
class Operation:
    name: str
    tag: str
    schema: str | None
    """The name of the schema of its JSON answer, if it has one."""
    content: bool
    """Whether it answers with a body."""


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    return create_app(ApiSettings()).openapi()


@pytest.fixture(scope="module")
def operations(described: dict[str, Any]) -> list[Operation]:
    return [
        _operation(operation)
        for methods in described["paths"].values()
        for method, operation in methods.items()
        if method in ("get", "post", "put", "delete")
    ]


def _operation(described: dict[str, Any]) -> Operation:
    answers = [part for code, part in described["responses"].items() if code < "300"]
    contents = [part["content"] for part in answers if "content" in part]
    schemas = [
        part["application/json"]["schema"] for part in contents if "application/json" in part
    ]
    names = [part["$ref"].rpartition("/")[2] for part in schemas]
    name, tag = described["operationId"], described["tags"][0]
    return Operation(name, tag, names[0] if names else None, bool(contents))


def run_generator(folder: Path, schema: Any, *command: str) -> None:
    """Make a package in `folder`."""
    (folder / "openapi.json").write_text(json.dumps(schema))
    program = SCRIPTS / command[0]
    done = subprocess.run(
        [program, *command[1:]],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"PATH": f"{SCRIPTS}:/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))


def run_clientele(folder: Path, schema: Any) -> None:
    flags = ("--file", "openapi.json", "--output", PACKAGE)
    run_generator(folder, _as_json(schema), "clientele", "start-api", *flags)


@pytest.fixture(scope="module")
def generated(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generated]:
    """A client with the development key."""
    folder = tmp_path_factory.mktemp("client")
    run_clientele(folder, httpx.get(f"{url}/openapi.json", timeout=60).json())
    client, config, schemas = (
        importlib.import_module(f"{PACKAGE}.{name}") for name in ("client", "config", "schemas")
    )
    sent = {"X-API-Key": DEVELOPMENT_KEY}
    client.client.configure(config=config.Config(base_url=url, headers=sent, timeout=20))
    operations = {name: function for name, function in vars(client).items() if callable(function)}
    yield SimpleNamespace(**operations, schemas=schemas)
    client.client.close()
    sys.path.remove(str(folder))


def _as_json(schema: Any) -> Any:
    """The description without other media types next to JSON: this generator treats the last media
    type of an answer as the only one.
    """
    for methods in schema["paths"].values():
        for operation in methods.values():
            for answer in operation["responses"].values():
                if as_json := answer.get("content", {}).get("application/json"):
                    answer["content"] = {"application/json": as_json}
    return schema


def test_a_generated_client_submits_follows_and_reads_a_job(generated: Generated) -> None:
    schemas = generated.schemas
    body = schemas.JobRequest(task="once", model="recording:once", labels=["generated"])
    accepted = generated.submit_job(data=body)
    assert isinstance(accepted, schemas.JobReceipt), accepted
    ends = time.monotonic() + 60
    while (job := generated.read_job(job_id=accepted.id)).finished_at is None:
        assert time.monotonic() < ends, job
        time.sleep(0.05)
    assert isinstance(job, schemas.Job)
    assert job.status is schemas.Status.SUCCEEDED, job.detail
    assert job.runs[0].end is schemas.RunEnd.EXITED
    assert job.critique.verdict is schemas.Verdict.APPROVE
    listed = generated.list_jobs(label="generated")
    assert [listed_job.id for listed_job in listed.jobs] == [accepted.id]

    event_list = generated.follow_job(job_id=accepted.id, format="json")
    assert event_list.final is True
    assert isinstance(event_list.events[0], schemas.SubmittedEvent)
    assert isinstance(event_list.events[-1], schemas.SucceededEvent)
    (run,) = [event for event in event_list.events if isinstance(event, schemas.RunFinishedEvent)]
    assert (run.data.stdout.text, run.data.succeeded) == ("x\n", True)
    assert run.data.end is schemas.RunEnd.EXITED


def test_each_schema_has_a_unique_name_and_title(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"]
    titles = Counter(schema["title"] for schema in schemas.values() if "title" in schema)
    assert [title for title, count in titles.items() if count > 1] == []
    assert [name for name in schemas if not name.isalnum()] == []


def test_openapi_python_client_gives_each_operation_types(
    described: dict[str, Any], operations: list[Operation], tmp_path: Path
) -> None:
    package = "fettle_client_of_openapi_python_client"
    flags = ("--path", "openapi.json", "--output-path", package, "--meta", "none")
    run_generator(
        tmp_path, described, "openapi-python-client", "generate", *flags, "--fail-on-warning"
    )
    try:
        for operation in operations:
            module = importlib.import_module(f"{package}.api.{operation.tag}.{operation.name}")
            types = get_args(get_type_hints(module._parse_response)["return"])
            names = {kind.__name__ for kind in types if kind is not Any}
            names -= {"NoneType", "Problem"}
            assert (
                (operation.schema in names)
                if operation.schema
                else bool(names) == operation.content
            ), operation
    finally:
        sys.path.remove(str(tmp_path))


def test_clientele_gives_each_operation_types(
    generated: Generated, operations: list[Operation]
) -> None:
    for operation in operations:
        types = get_type_hints(getattr(generated, operation.name))["return"]
        names = {kind.__name__ for kind in get_args(types) or (types,)} - {"Problem"}
        assert (
            (operation.schema in names) if operation.schema else bool(names) == operation.content
        ), operation
