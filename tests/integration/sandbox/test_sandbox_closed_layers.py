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


def a_file(directory: Path) -> None:
    directory.write_bytes(b"")


def below_a_file(directory: Path) -> None:
    directory.parent.rmdir()
    directory.parent.write_bytes(b"")


def closed(directory: Path) -> None:
    """To the user that sandboxes are outside, and who is not root even to himself."""
    (directory / "base").mkdir(parents=True)
    (directory / "trial" / "directory").mkdir(parents=True)
    (directory / "trial" / "directory" / "file").write_bytes(b"")
    directory.chmod(0)


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
    directory = tmp_path / "data" / "layers"
    directory.parent.mkdir()
    spoil(directory)
    sandbox: LocalSandbox | DockerSandbox = LocalSandbox(
        PYTHON, trees_directory=directory, pool_size=0
    )
    if name == "docker":
        host = request.getfixturevalue("docker_engine").host
        sandbox = DockerSandbox(engines.IMAGE, engine=host, trees_directory=directory, pool_size=0)
    try:
        result = await sandbox.run(Command.python("print('fine')"), Limits(wall_seconds=60.0))
        assert result.stdout.text == "fine\n"
        layers = {layer.name: layer for layer in await sandbox.check()}
        assert not layers["repositories"].active
        assert str(directory) in layers["repositories"].detail
        with pytest.raises(SandboxUnavailable, match=says):
            await sandbox.run(Command(("true",), trees=("base",)), Limits())
    finally:
        await sandbox.close()
        if directory.is_dir():
            directory.chmod(0o755)
