"""If the directory of trees cannot be used, only runs with trees fail."""

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


def make_file(path: Path) -> None:
    path.write_bytes(b"")


def make_parent_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_bytes(b"")


def make_closed(path: Path) -> None:
    """Make a directory that the user of the sandboxes cannot enter."""
    (path / "base").mkdir(parents=True)
    (path / "trial" / "directory").mkdir(parents=True)
    (path / "trial" / "directory" / "file").write_bytes(b"")
    path.chmod(0)


@pytest.mark.parametrize(
    ("name", "spoil", "error"),
    [
        ("local", make_file, "File exists"),
        ("local", make_parent_a_file, "Not a directory"),
        ("local", make_closed, "may not enter|Permission denied"),
        *((name, make_file, "File exists") for name in engines.BACKENDS),
    ],
)
async def test_runs_without_trees_work(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    name: str,
    spoil: Callable[[Path], None],
    error: str,
) -> None:
    trees = tmp_path / "data" / "layers"
    trees.parent.mkdir()
    spoil(trees)
    sandbox: LocalSandbox | DockerSandbox = LocalSandbox(PYTHON, trees_directory=trees, pool_size=0)
    if name == "docker":
        host = request.getfixturevalue("docker_engine").host
        sandbox = DockerSandbox(engines.IMAGE, engine=host, trees_directory=trees, pool_size=0)
    try:
        result = await sandbox.run(Command.python("print('fine')"), Limits(wall_seconds=60.0))
        assert result.stdout.text == "fine\n"
        layers = {layer.name: layer for layer in await sandbox.check()}
        assert not layers["repositories"].active
        assert str(trees) in layers["repositories"].detail
        with pytest.raises(SandboxUnavailable, match=error):
            await sandbox.run(Command(("true",), trees=("base",)), Limits())
    finally:
        await sandbox.close()
        if trees.is_dir():
            trees.chmod(0o755)
