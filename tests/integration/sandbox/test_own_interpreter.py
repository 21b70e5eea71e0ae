"""An operator's own interpreter and image, as docs/how-to/use-your-own-interpreter.md has them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import docker
import pytest
from support.servers import docker_engine as engines

from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import Command, Limits, Sandbox, SandboxUnavailable

REPOSITORY = Path(__file__).parents[3]
TEXT = (REPOSITORY / "docs" / "how-to" / "use-your-own-interpreter.md").read_text()
QUICK = Limits(wall_seconds=60.0)
CODE = "import sys, mylibrary; print(mylibrary.NAME, sys.prefix)"
needs_engine = pytest.mark.skipif(not engines.AVAILABLE, reason="no engine: see docker_engine.py")


@pytest.fixture
def own_interpreter(tmp_path: Path) -> Path:
    """An environment with a library of its own, and nothing else."""
    folder = tmp_path / "own"
    base = Path(sys._base_executable)
    subprocess.run([base, "-m", "venv", "--without-pip", folder], check=True)
    library(folder, "NAME = 'mine'\n")
    return folder


def library(environment: Path, text: str, name: str = "mylibrary") -> None:
    (packages,) = environment.glob("lib/python3*/site-packages")
    (packages / f"{name}.py").write_text(text)


async def ran(sandbox: Sandbox) -> str:
    try:
        result = await sandbox.run(Command.python(CODE), QUICK)
        assert result.succeeded, result.stderr.text
        return result.stdout.text
    finally:
        await sandbox.close()


async def test_code_runs_with_the_operators_own_interpreter(own_interpreter: Path) -> None:
    assert (
        await ran(LocalSandbox(own_interpreter / "bin" / "python", pool_size=1))
        == "mine /opt/venv\n"
    )


async def test_without_pytest_and_other_libraries_sandboxes_stand_ready(
    own_interpreter: Path,
) -> None:
    sandbox = LocalSandbox(own_interpreter / "bin" / "python", pool_size=1)
    try:
        assert (await sandbox.run(Command.python("import mylibrary"), QUICK)).succeeded
        await sandbox.wait_until_warm()
        assert sandbox.pool.ready == 1
    finally:
        await sandbox.close()


async def test_libraries_that_cannot_be_loaded_beforehand_are_waited_for_by_nobody(
    own_interpreter: Path,
) -> None:
    starts = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True)"
    library(own_interpreter, f"{starts}.start()\n", "pandas")
    sandbox = LocalSandbox(own_interpreter / "bin" / "python", pool_size=1)
    try:
        assert (await sandbox.run(Command.python("import mylibrary"), QUICK)).succeeded
        with pytest.raises(SandboxUnavailable, match="has started a thread"):
            await sandbox.wait_until_warm()
        assert (await sandbox.run(Command.python("import pandas"), QUICK)).succeeded
    finally:
        await sandbox.close()


def test_the_pages_command_tries_it(own_interpreter: Path) -> None:
    (line,) = re.findall(r"^\.venv/bin/python (-m sandbox\.doctor .*?) +#", TEXT, re.MULTILINE)
    words = line.replace(
        '"$FETTLE_SANDBOX_PYTHON"', str(own_interpreter / "bin" / "python")
    ).split()
    tried = subprocess.run(
        [sys.executable, *words], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert "sandbox local: works" in tried.stdout


@needs_engine
async def test_an_image_is_made_of_the_operators_own_environment(
    own_interpreter: Path, docker_engine: engines.Engine
) -> None:
    found = re.findall(r"^FETTLE_SANDBOX_ENVIRONMENT=\S+ deploy/(\S+) (\S+)", TEXT, re.MULTILINE)
    (line,) = found
    script, image = line
    assert script == "sandbox-image.sh"
    engines.build(docker_engine.host, image, FETTLE_SANDBOX_ENVIRONMENT=str(own_interpreter))
    backend = DockerSandbox(image, engine=docker_engine.host, pool_size=0)
    assert await ran(backend) == "mine /opt/venv\n"
    # other packages are another image, under the same name
    library(own_interpreter, "NAME = 'changed'\n")
    engines.build(docker_engine.host, image, FETTLE_SANDBOX_ENVIRONMENT=str(own_interpreter))
    backend = DockerSandbox(image, engine=docker_engine.host, pool_size=0)
    assert await ran(backend) == "changed /opt/venv\n"


@needs_engine
async def test_an_image_may_stand_on_fettles(tmp_path: Path, docker_engine: engines.Engine) -> None:
    (text,) = re.findall(r"```dockerfile\n(.*?)```", TEXT, re.DOTALL)
    library = tmp_path / "mylibrary"
    library.mkdir()
    (library / "__init__.py").write_text("NAME = 'mine'\n")
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (tmp_path / "Dockerfile").write_text(text.replace("python3.11", version))
    client = docker.DockerClient(base_url=docker_engine.host)
    try:
        client.images.build(path=str(tmp_path), tag="stands-on-fettles", rm=True)
    finally:
        client.close()
    backend = DockerSandbox("stands-on-fettles", engine=docker_engine.host, pool_size=0)
    assert await ran(backend) == "mine /opt/venv\n"
