"""The recipes of CONTRIBUTING.md, as a reader would follow them."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support.cases.markdown_pages import REPOSITORY, table_after
from support.graph.graphs import PlannedSandbox, call
from support.graph.tool_runs import use
from support.pages import api_front

import api.app
from agents.models.providers import PROVIDERS
from agents.tools.registry import TOOLS
from sandbox.protocol import Sandbox
from settings.sandbox import Backend, SandboxSettings
from settings.starting.provider_rows import ADDRESS, KEY
from settings.starting.provider_rows import PROVIDERS as PROVIDER_ROWS
from worker.adapters.backend import backend

PAGE = REPOSITORY / "CONTRIBUTING.md"


def recipe(title: str) -> str:
    """A recipe's text."""
    matched = re.search(
        rf"^## Recipe: {title}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    assert matched is not None, title
    return matched[1]


def module(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The code block of this name, as a module."""
    matched = re.search(rf"```python title={name}\.py\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert matched is not None
    path = folder / f"{name}.py"
    path.write_text(matched[1])
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, loaded)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize(
    "title",
    [
        "a tool",
        "a provider of models",
        "a field of a job",
        "an endpoint",
        "a test with a worker",
        "a sandbox backend",
    ],
)
def test_files_and_names_of_a_recipe_exist(title: str) -> None:
    new_files = {"agents/tools/word_count.py"}
    paths = (
        set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:yml|toml))`", recipe(title))) - new_files
    )
    assert paths
    assert not [path for path in paths if not (REPOSITORY / path).exists()]


async def test_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = module("word_count", tmp_path, monkeypatch).word_count
    used = await use(
        tmp_path / "recording",
        PlannedSandbox({}),
        call("word_count", path="notes.txt"),
        call("word_count", path="none.txt"),
        files={"notes.txt": b"three words here\n"},
        tools=(tool,),
    )
    assert tool not in TOOLS
    assert used.texts == [
        "notes.txt: 3 words",
        "error: there is no file 'none.txt'; list_dir shows the files",
    ]


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_provider_is_registered_everywhere_that_the_recipe_names(name: str) -> None:
    provider = PROVIDERS[name]
    (row,) = (row for row in PROVIDER_ROWS if row.provider == name)
    compose = (REPOSITORY / "docker-compose.yml").read_text()
    settings = (KEY, ADDRESS, *(extra.name for extra in row.settings))
    for variable in (*map(row.variable, settings), f"FETTLE_{row.rate_field}".upper()):
        assert f" {variable}:" in compose, variable
    if provider.extra:
        assert re.search(
            rf"^{provider.extra} = \[", (REPOSITORY / "pyproject.toml").read_text(), re.MULTILINE
        )
        assert provider.extra in (REPOSITORY / "deploy" / "lock.sh").read_text()
    tests = REPOSITORY / "tests" / "integration" / "models" / "test_models_providers.py"
    assert f'"{name}:' in tests.read_text()
    rows = table_after(REPOSITORY / "docs" / "models.md", "## Providers")
    assert f"`{name}`" in [row[0] for row in rows]


def test_a_field_of_a_job_is_checked_by_the_test_that_the_recipe_names() -> None:
    assert "tests/unit/test_job_fields.py" in recipe("a field of a job")


async def test_an_endpoint(redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added = module("whoami", tmp_path, monkeypatch)
    monkeypatch.setattr(api.app, "ROUTES", (*api.app.ROUTES, added))
    async with api_front.started(api_front.settings_for(redis_url, tmp_path)) as front:
        answer = await front.client.get("/whoami")
        assert (answer.status_code, answer.json()["tenant"]) == (200, "default")
        refused = await front.client.get("/whoami", headers={"X-API-Key": "wrong"})
        assert refused.status_code == 401
        described = (await front.client.get("/openapi.json")).json()["paths"]["/whoami"]["get"]
        assert "401" in described["responses"]


async def test_a_test_with_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = module("test_killed_worker", tmp_path, monkeypatch)
    await example.test_another_worker_continues_the_job(tmp_path / "scene")


@pytest.mark.parametrize("name", Backend)
def test_a_backend_of_each_name_is_made(name: Backend) -> None:
    instance = backend(SandboxSettings(sandbox=name))
    methods = [method for method in vars(Sandbox) if not method.startswith("_")]
    assert {"run", "check", "close"} <= set(methods)
    assert not [method for method in methods if not hasattr(instance, method)]
    suite = (REPOSITORY / "tests" / "contract" / "test_sandbox_contract.py").read_text()
    assert f"{name.value.capitalize()}Sandbox(" in suite
