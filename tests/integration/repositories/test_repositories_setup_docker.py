"""A setup in a container of the backend `docker`, and runs that begin with its files."""

from __future__ import annotations

import pytest
from support.graph.setup_job import FILES, PACKAGES
from support.servers import docker_engine as engines
from support.servers.git_repositories import Repository
from support.servers.package_index import serve
from support.servers.web_server import WebServer

from agents.runs.program import Program, command_over
from agents.tree import Tree
from sandbox.docker import DockerSandbox
from sandbox.protocol import Limits
from settings.repositories import RepositorySettings
from worker.repositories.setups.detected import Setup
from worker.repositories.setups.run import Indexes
from worker.repositories.setups.setup import Setups, Within

from .conftest import Uploads

QUICK = Limits(wall_seconds=60.0)


@pytest.mark.parametrize("paths", [("requirements.txt",), ()])
async def test_a_container_begins_with_the_files_of_a_setup(
    docker_engine: engines.Engine,
    uploads: Uploads,
    project: Repository,
    server: WebServer,
    paths: tuple[str, ...],
) -> None:
    project.commit(FILES)
    base = await uploads.base(project.bundle())
    settings = RepositorySettings(setup_index=serve(server, PACKAGES))
    repositories = uploads.repositories()
    setups = Setups(repositories.folders, Indexes(settings))
    sandbox = DockerSandbox(
        engines.IMAGE, engine=docker_engine.host, pool_size=0, trees_directory=repositories.layers
    )

    async def begins() -> None:
        pass

    try:
        setup = Setup("pip install -r requirements.txt", paths)
        installed = await setups.install(base, setup, Within(sandbox, "a"), begins)
        tree = Tree({}, (base.layer,), frozenset(), (installed.layer,))
        looks = "hey; python -m pytest -q tests; git status --porcelain"
        result = await sandbox.run(
            command_over(Program.verify(["bash", "-c", looks]), tree, {}), QUICK
        )
        again = await sandbox.run(
            command_over(Program.python("import shout; shout.main()"), tree, {}), QUICK
        )
    finally:
        await sandbox.close()
    assert result.stdout.text.startswith("HEY\n.")
    assert "1 passed" in result.stdout.text.splitlines()[-1]
    assert again.stdout.text == "HEY\n"
