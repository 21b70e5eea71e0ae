"""Setups at their public interface: the installed files become a layer, or the job gets a clear
error.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from support.graph import clone_projects
from support.graph.setup_job import FILES, PACKAGES
from support.servers.git_repositories import Repository
from support.servers.package_index import serve
from support.servers.web_server import WebServer

from agents.graph.memory_ports import MemoryRecord, MemoryWorkspace, ports_over
from agents.runs.program import Program, execute
from agents.tree import Tree
from sandbox.local import LocalSandbox
from sandbox.protocol import DEFAULT_LIMITS, MIB, Command
from settings.repositories import RepositorySettings
from settings.sandbox import sandbox_python
from worker.repositories.base import CommitBase
from worker.repositories.errors import RepositoryUnavailable, SetupFailed, SetupUnavailable
from worker.repositories.setups import run, setup
from worker.repositories.setups.detected import Setup
from worker.repositories.setups.run import Indexes
from worker.repositories.setups.setup import Installed, Setups, Within

from .conftest import Uploads

LIST = Setup("pip install -r requirements.txt", ("requirements.txt",))


class Bench:
    """Setups of one repository on one machine. `setup_count` counts the setups that ran."""

    def __init__(
        self, uploads: Uploads, project: Repository, index: WebServer, sandbox: LocalSandbox
    ) -> None:
        self.uploads, self.project, self.sandbox = uploads, project, sandbox
        self.index = serve(index, PACKAGES)
        self.setup_count = 0

    async def base(self) -> CommitBase:
        return await self.uploads.base(self.project.bundle())

    async def installed(
        self,
        setup: Setup,
        base: CommitBase | None = None,
        digest: str = "a",
        tenant: str = "default",
        **settings: Any,
    ) -> Installed:
        values = RepositorySettings.model_validate({"setup_index": self.index, **settings})
        setups = Setups(self.uploads.repositories().folders, Indexes.from_settings(values))

        async def begins() -> None:
            self.setup_count += 1

        within = Within(self.sandbox, digest, tenant)
        return await setups.install(base or await self.base(), setup, within, begins)

    async def failed(self, command: str, **settings: Any) -> SetupFailed:
        with pytest.raises(SetupFailed) as failed:
            await self.installed(Setup(command), **settings)
        folder = self.uploads.folder
        assert list(folder.glob("layers/setup-*")) == list(folder.glob("making/*")) == []
        return failed.value

    def layer(self, name: str) -> Path:
        return self.uploads.repositories().layers / name


@pytest_asyncio.fixture
async def bench(uploads: Uploads, project: Repository, server: WebServer) -> AsyncIterator[Bench]:
    project.commit(FILES)
    layers = uploads.repositories().layers
    sandbox = LocalSandbox(sandbox_python(), pool_size=0, trees_directory=layers)
    yield Bench(uploads, project, server, sandbox)
    await sandbox.close()


async def test_commits_with_the_same_list_share_a_layer(bench: Bench, server: WebServer) -> None:
    first = await bench.installed(LIST)
    bench.project.commit({"greet.py": b"pass\n"})
    request_count = len(server.requested_paths)
    assert (await bench.installed(LIST)).layer == first.layer
    assert len(server.requested_paths) == request_count
    bench.project.commit({"requirements.txt": b"shout\n"})
    assert (await bench.installed(LIST)).layer != first.layer
    assert (await bench.installed(LIST, digest="b")).layer != first.layer
    assert bench.setup_count == 3


async def test_tenants_with_different_credentials_share_no_layer(
    bench: Bench, server: WebServer, tmp_path: Path
) -> None:
    file = tmp_path / "indexes"
    file.touch(mode=0o600)
    file.write_text(f"[acme]\n127.0.0.1:{server.port} me:acme\n[*]\nother.example me:x\n")

    async def layer(tenant: str) -> str:
        return (await bench.installed(LIST, tenant=tenant, setup_credentials=file)).layer

    assert await layer("acme") == await layer("acme")
    assert await layer("default") == await layer("third") != await layer("acme")
    assert bench.setup_count == 2


async def test_a_command_sees_all_files_and_only_new_files_remain(bench: Bench) -> None:
    command = (
        "git rev-parse HEAD >made.txt; echo x >greet.py; rm -r tests; mkdir -p node/.bin;"
        "ln -s ../../made.txt node/.bin/made; ln -s /etc/passwd out; ln made.txt hard.txt;"
        "mkdir e; mkdir docs; touch 'docs/#1 [a]*' '#2 ?'"
    )
    base = await bench.base()
    installed = await bench.installed(Setup(command), base)
    layer = bench.layer(installed.layer)
    paths = {str(path.relative_to(layer)) for path in layer.rglob("*")}
    assert {path for path in paths if not path.startswith((".setup", ".git"))} == {
        "made.txt",
        "hard.txt",
        "out",
        "node",
        "node/.bin",
        "node/.bin/made",
        "e",
        "docs",
        "docs/#1 [a]*",
        "#2 ?",
    }
    assert (layer / "made.txt").read_text().strip() == base.commit
    assert str((layer / "node/.bin/made").readlink()) == "../../made.txt"
    shell_command = (
        "git status --porcelain; cat hard.txt node/.bin/made; cat greet.py; ls tests;head -c 4 out"
    )
    layers = (installed.layer, base.layer)
    result = await bench.sandbox.run(
        Command(("sh", "-c", shell_command), trees=layers), DEFAULT_LIMITS
    )
    commits, _, remaining_output = result.stdout.text.partition("from shout")
    assert commits == f"{base.commit}\n" * 2
    assert remaining_output.endswith("test_greet.py\nuser")
    bench.project.commit({"other.txt": b""})
    assert (await bench.installed(Setup(command))).layer != installed.layer


async def test_a_run_after_a_setup_behaves_as_in_a_clone(bench: Bench) -> None:
    test = (
        "import os, shout, shop.cart\n\n\ndef test_it():\n"
        "    assert shout.__file__.startswith('/work/.setup/')\n"
        "    assert os.popen('git status --porcelain').read() == ''\n"
    )
    shape = clone_projects.SHAPES["sitecustomize at the top, on the path"].files
    files = {**shape, "tests/test_it.py": test, ".gitignore": ".pytest_cache\n"}
    bench.project.commit({path: text.encode() for path, text in files.items()})
    base = await bench.base()
    installed = await bench.installed(LIST, base)
    workspace = MemoryWorkspace(MemoryRecord())
    await workspace.apply({path: text.encode() for path, text in files.items()})
    ports = ports_over(MemoryRecord(), bench.sandbox, cast("Any", None))
    tree = Tree(layers=(base.layer,), installed=(installed.layer,))
    ran = await execute(replace(ports, workspace=workspace), Program.verify(["pytest"]), tree)
    assert ran.passed, ran
    assert ran.result.changed == {}
    assert not ran.result.refused


async def test_a_new_file_keeps_its_mode_and_time(bench: Bench) -> None:
    bench.project.commit({"lib/own/a.py": b""})
    command = "echo x >lib/own/made; chmod 0100 lib/own/made; touch -d @99 lib/own/made; mkfifo p"
    layer = bench.layer((await bench.installed(Setup(command))).layer)
    paths = {str(path.relative_to(layer)) for path in layer.rglob("*")}
    assert {path for path in paths if not path.startswith((".setup", ".git"))} == {
        *("lib", "lib/own", "lib/own/made"),
    }
    status = (layer / "lib/own/made").stat()
    assert (oct(status.st_mode), status.st_mtime, status.st_size) == ("0o100755", 99, 2)
    assert "/lib/own/made\n" in (layer / ".git/info/exclude").read_text()


async def test_two_jobs_at_once_install_once(bench: Bench, server: WebServer) -> None:
    base = await bench.base()
    both = await asyncio.gather(*(bench.installed(LIST, base) for _ in range(2)))
    assert len({installed.layer for installed in both}) == 1
    assert [installed.seconds for installed in both].count(None) == 1
    assert len([path for path in server.requested_paths if path.startswith("/files/")]) == 1


async def test_a_cancelled_setup_leaves_no_files(bench: Bench) -> None:
    making = asyncio.create_task(bench.installed(Setup("touch a; sleep 600")))
    while not list(bench.uploads.folder.glob("making/setup-*")):
        await asyncio.sleep(0.01)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert list(bench.uploads.folder.glob("making/*")) == []


async def test_unused_layers_are_removed_when_space_is_needed(bench: Bench) -> None:
    first = await bench.installed(LIST)
    second = await bench.installed(Setup("true"), repo_cache_bytes=1)
    assert bench.layer(first.layer).exists()
    first.use.release()
    await bench.installed(Setup("true # again"), repo_cache_bytes=1)
    assert not bench.layer(first.layer).exists()
    assert bench.layer(second.layer).exists()


@pytest.mark.parametrize(
    ("command", "settings", "reason", "output"),
    [
        ("echo hm; exit 3", {}, "exit code 3", "hm"),
        ("kill -9 $$", {}, "exit code 137", ""),
        ("sleep 60", {"setup_seconds": 1}, "longer than 1 s (FETTLE_SETUP_SECONDS)", ""),
        (
            "head -c 3000000 /dev/zero >big",
            {"setup_bytes": 2_000_000},
            "exit code 1",
            "may stay (FETTLE_SETUP_BYTES)",
        ),
        (
            "for n in 1 2 3; do head -c 900000 /dev/zero >big$n; done",
            {"setup_bytes": 2_000_000},
            "exit code 1",
            "may stay (FETTLE_SETUP_BYTES)",
        ),
        (
            "pip install -q --index-url http://127.0.0.1:9/simple/ shout",
            {},
            "refused: the host 127.0.0.1:9 is not on the operator's list",
            "No matching distribution",
        ),
        ("mkdir -p .setup/fettle-bytes/x", {}, "'.setup/fettle-bytes' may not be created", ""),
        ("pip install -q shout", {"setup_index": None}, "FETTLE_SETUP_HOSTS", ""),
    ],
)
async def test_a_failed_setup_names_its_reason(
    bench: Bench, command: str, settings: dict[str, Any], reason: str, output: str
) -> None:
    error = await bench.failed(command, **settings)
    assert not isinstance(error, SetupUnavailable)
    assert reason in str(error)
    assert output in error.output


async def test_a_setup_that_fills_its_disk_names_the_limit(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SPACE_BYTES", 32 * MIB)
    monkeypatch.setattr(run, "MOST_FILES", 2_000)
    fills = "set -e; for n in 1 2 3 4 5 6 7 8 9; do head -c 6000000 /dev/zero >big$n; done"
    error = await bench.failed(fills, setup_bytes=8 * MIB)
    assert "its files took more than 32 MiB (FETTLE_SETUP_BYTES)" in str(error)


async def test_a_workers_full_disk_is_an_outage(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_setup = run.run

    async def on_a_full_disk(*args: Any) -> float:
        arguments = (*args[:-1], Path("/dev/full"))
        return await run_setup(*arguments)

    monkeypatch.setattr(setup, "run", on_a_full_disk)
    with pytest.raises(RepositoryUnavailable, match=r"disk cannot store .*No space left"):
        await bench.installed(Setup("echo x >made"))


async def test_an_index_that_does_not_answer_is_an_outage(bench: Bench) -> None:
    error = await bench.failed("pip install -q shout", setup_index="http://127.0.0.1:9/simple/")
    assert isinstance(error, SetupUnavailable)
