"""The tools that run something, in the sandboxes of the backend `docker`."""

from __future__ import annotations

from pathlib import Path

from support.graph.graphs import call
from support.graph.tool_runs import use
from support.servers import docker_engine as engines
from support.servers.package_index import wheel

from sandbox.docker import DockerSandbox


async def test_the_tools_work_in_containers(tmp_path: Path, docker_engine: engines.Engine) -> None:
    sandbox = DockerSandbox(engines.IMAGE, pool_size=1, engine=docker_engine.host)
    packed = wheel("plus", "1.0", {"plus.py": "def plus(a, b): return a + b\n"})
    test = b"from plus import plus\n\ndef test_plus():\n    assert plus(1, 2) == 3\n"
    try:
        used = await use(
            tmp_path,
            sandbox,
            call("shell", command="echo hello | tr a-z A-Z; false | true"),
            call("verify", paths=["."]),
            call("search", pattern="def .*plus"),
            files={"test_plus.py": test, ".packages/plus-1.0-py3-none-any.whl": packed},
        )
    finally:
        await sandbox.close()
    assert used.texts[0].startswith("exit code 1\n\nstdout:\nHELLO")
    assert used.texts[1:] == [
        "passed: 1 passed\npassed test_plus.py::test_plus",
        "test_plus.py:3: def test_plus():",
    ]
