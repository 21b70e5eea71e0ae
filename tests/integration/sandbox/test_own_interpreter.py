"""An operator's interpreter and image, as in docs/how-to/use-your-own-interpreter.md."""

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
def environment(tmp_path: Path) -> Path:
    """An environment with one library."""
    folder = tmp_path / "own"
    base = Path(sys._base_executable)  # type: ignore[attr-defined]
    subprocess.run([base, "-m", "venv", "--without-pip", folder], check=True)
    install_library(folder, "NAME = 'mine'\n")
    return folder


def install_library(environment: Path, text: str, name: str = "mylibrary") -> None:
    (packages,) = environment.glob("lib/python3*/site-packages")
    (packages / f"{name}.py").write_text(text)


async def run_code(sandbox: Sandbox) -> str:
    """The output of a run of CODE; closes the backend."""
    try:
        result = await sandbox.run(Command.python(CODE), QUICK)
        assert result.succeeded, result.stderr.text
        return result.stdout.text
    finally:
        await sandbox.close()


async def test_code_runs_with_the_operators_interpreter(environment: Path) -> None:
    assert (
        await run_code(LocalSandbox(environment / "bin" / "python", pool_size=1))
        == "mine /opt/venv\n"
    )


async def test_sandboxes_are_made_in_advance_without_the_usual_libraries(environment: Path) -> None:
    sandbox = LocalSandbox(environment / "bin" / "python", pool_size=1)
    try:
        assert (await sandbox.run(Command.python("import mylibrary"), QUICK)).succeeded
        await sandbox.wait_until_warm()
        assert sandbox.pool.ready == 1
    finally:
        await sandbox.close()


async def test_no_run_waits_for_libraries_that_cannot_be_preloaded(
    environment: Path,
) -> None:
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True)"
    install_library(environment, f"{thread}.start()\n", "pandas")
    sandbox = LocalSandbox(environment / "bin" / "python", pool_size=1)
    try:
        assert (await sandbox.run(Command.python("import mylibrary"), QUICK)).succeeded
        with pytest.raises(SandboxUnavailable, match="has started a thread"):
            await sandbox.wait_until_warm()
        assert (await sandbox.run(Command.python("import pandas"), QUICK)).succeeded
    finally:
        await sandbox.close()


def test_the_command_of_the_page_tests_the_interpreter(environment: Path) -> None:
    (line,) = re.findall(r"^\.venv/bin/python (-m sandbox\.doctor .*?) +#", TEXT, re.MULTILINE)
    words = line.replace('"$FETTLE_SANDBOX_PYTHON"', str(environment / "bin" / "python")).split()
    process = subprocess.run(
        [sys.executable, *words], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "sandbox local: works" in process.stdout


@needs_engine
async def test_an_image_is_built_from_the_operators_environment(
    environment: Path, docker_engine: engines.Engine
) -> None:
    pattern = r"^FETTLE_SANDBOX_ENVIRONMENT=\S+ deploy/(\S+) (\S+)"
    ((script, image),) = re.findall(pattern, TEXT, re.MULTILINE)
    assert script == "sandbox-image.sh"
    engines.build(docker_engine.host, image, FETTLE_SANDBOX_ENVIRONMENT=str(environment))
    backend = DockerSandbox(image, engine=docker_engine.host, pool_size=0)
    assert await run_code(backend) == "mine /opt/venv\n"
    # With other packages, another image gets the same name.
    install_library(environment, "NAME = 'changed'\n")
    engines.build(docker_engine.host, image, FETTLE_SANDBOX_ENVIRONMENT=str(environment))
    backend = DockerSandbox(image, engine=docker_engine.host, pool_size=0)
    assert await run_code(backend) == "changed /opt/venv\n"


@needs_engine
async def test_an_image_may_be_based_on_fettles_image(
    tmp_path: Path, docker_engine: engines.Engine
) -> None:
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
    assert await run_code(backend) == "mine /opt/venv\n"
