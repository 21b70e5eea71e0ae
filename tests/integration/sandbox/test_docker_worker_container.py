"""The backend `local` in a worker's container: with the settings of docker-compose.yml, and with no
privilege. `deploy/prove-containers.sh` proves it with the real images.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml
from support.servers.docker_engine import IMAGE

from sandbox import policy

TOP = Path(__file__).resolve().parents[3]
TREES = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", sys.base_prefix, str(TOP))
"""This machine's programs instead of the worker's image, which takes minutes to build."""


def test_the_sandbox_works_in_a_container_with_the_workers_settings(docker_engine):
    worker = yaml.safe_load((TOP / "docker-compose.yml").read_text())["services"]["worker"]
    options = [
        option.replace("${FETTLE_APPARMOR:-unconfined}", "unconfined")
        for option in worker["security_opt"]
    ]
    command = [
        *("docker", "--host", docker_engine.host, "run", "--rm", "--read-only"),
        *("--cap-drop=ALL", "--network=none", "--tmpfs=/tmp", "--entrypoint="),
        f"--user={policy.HOST_UID}",  # the container can read the interpreter, as in other tests
        *(f"--security-opt={option}" for option in options),
        *(f"--volume={tree}:{tree}:ro" for tree in TREES if Path(tree).exists()),
        *(f"--workdir={TOP}", IMAGE, sys.executable, "-m", "sandbox.doctor"),
    ]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    assert "sandbox local: works" in done.stdout, done.stdout + done.stderr
    assert "on   repositories:" in done.stdout
