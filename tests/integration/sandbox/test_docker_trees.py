"""The images with directory trees for the backend `docker`: made once, and removed."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from support.directory_trees import make_tree
from support.servers import docker_engine as engines

from sandbox.docker import DockerSandbox
from sandbox.docker.garbage_collection import OWNER
from sandbox.docker.tree_images import TREES_LABEL
from sandbox.protocol import Command, Limits

QUICK = Limits(wall_seconds=60.0)


@pytest.fixture
def looking(docker_engine) -> Iterator[docker.DockerClient]:
    client = docker.DockerClient(base_url=docker_engine.host)
    yield client
    client.close()


async def test_trees_become_an_image_once_and_it_is_removed_with_its_tree(
    docker_engine, looking, tmp_path: Path
) -> None:
    name = f"base-{secrets.token_hex(4)}"
    make_tree(tmp_path, name, {"x": b"1"})
    command = Command(("cat", "x"), trees=(name,))
    for _ in range(2):
        sandbox = DockerSandbox(engines.IMAGE, engine=docker_engine.host, trees_directory=tmp_path)
        try:
            both = await asyncio.gather(*(sandbox.run(command, QUICK) for _ in range(2)))
            assert [result.stdout.text for result in both] == ["1", "1"]
        finally:
            await sandbox.close()
        (image,) = images(looking, name)
        (first,) = image.tags
    shutil.rmtree(tmp_path / name)
    async with asyncio.timeout(60):
        sandbox = DockerSandbox(engines.IMAGE, engine=docker_engine.host, trees_directory=tmp_path)
        try:
            await sandbox.run(Command(("true",)), QUICK)
            while images(looking, name):
                await asyncio.sleep(0.1)
        finally:
            await sandbox.close()
    assert first.startswith("fettle-layers:")


async def test_only_the_image_remains(docker_engine, looking, tmp_path: Path) -> None:
    name = f"base-{secrets.token_hex(4)}"
    make_tree(tmp_path, name, {"x": b"1"})
    sandbox = DockerSandbox(engines.IMAGE, engine=docker_engine.host, trees_directory=tmp_path)
    try:
        layer = (await sandbox.check())[-1]
        assert (layer.name, layer.active) == ("repositories", True)
        assert (await sandbox.run(Command(("cat", "x"), trees=(name,)), QUICK)).succeeded
    finally:
        await sandbox.close()
    until = time.monotonic() + 20.0
    while looking.api.containers(all=True, filters={"label": OWNER}):
        assert time.monotonic() < until
        await asyncio.sleep(0.1)


def images(looking: docker.DockerClient, layer: str) -> list:
    return looking.images.list(filters={"label": f"{TREES_LABEL}={layer}"})
