"""A directory of layers that is of no use: only runs on layers are the worse for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.servers import docker_engine as engines

from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import Command, Limits, SandboxUnavailable

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"


def a_file(place: Path) -> None:
    place.write_bytes(b"")


def below_a_file(place: Path) -> None:
    place.parent.rmdir()
    place.parent.write_bytes(b"")


def closed(place: Path) -> None:
    """To the user that sandboxes are outside, and who is not root even to himself."""
    (place / "base").mkdir(parents=True)
    (place / "trial" / "directory").mkdir(parents=True)
    (place / "trial" / "directory" / "file").write_bytes(b"")
    place.chmod(0)


@pytest.mark.parametrize(
    ("name", "spoil", "says"),
    [
        ("local", a_file, "File exists"),
        ("local", below_a_file, "Not a directory"),
        ("local", closed, "may not enter|Permission denied"),
        *((name, a_file, "File exists") for name in engines.BACKENDS),
    ],
)
async def test_it_costs_the_runs_without_layers_nothing(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    name: str,
    spoil: Callable[[Path], None],
    says: str,
) -> None:
    place = tmp_path / "data" / "layers"
    place.parent.mkdir()
    spoil(place)
    sandbox: LocalSandbox | DockerSandbox = LocalSandbox(PYTHON, trees_directory=place, pool_size=0)
    if name == "docker":
        host = request.getfixturevalue("docker_engine").host
        sandbox = DockerSandbox(engines.IMAGE, engine=host, trees_directory=place, pool_size=0)
    try:
        result = await sandbox.run(Command.python("print('fine')"), Limits(wall_seconds=60.0))
        assert result.stdout.text == "fine\n"
        found = {layer.name: layer for layer in await sandbox.check()}
        assert not found["repositories"].active
        assert str(place) in found["repositories"].detail
        with pytest.raises(SandboxUnavailable, match=says):
            await sandbox.run(Command(("true",), trees=("base",)), Limits())
    finally:
        await sandbox.close()
        if place.is_dir():
            place.chmod(0o755)
