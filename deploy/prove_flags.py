#!/usr/bin/env python3
"""Prints a service of docker-compose.yml as arguments of `docker create`, one a line.

docker-compose v1 does not have `systempaths=unconfined`, but the `docker` command does. If only v1
is installed, the proof starts its workers with these arguments, which are the compose file's.

    docker-compose config | deploy/prove_flags.py PROJECT SERVICE
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import yaml

UNDERSTOOD = {
    *("build", "cap_drop", "depends_on", "environment", "image", "init", "logging", "mem_limit"),
    *("networks", "pids_limit", "read_only", "restart", "security_opt", "stop_grace_period"),
    *("tmpfs", "volumes"),
}


def flags(project: str, service: dict[str, Any]) -> Iterator[str]:
    """The flags, then the image. If there are several networks, only the first by name is used.

    Raises ValueError for a setting that this function does not translate.
    """
    unknown = service.keys() - UNDERSTOOD
    if unknown:
        raise ValueError(f"not known here: {', '.join(sorted(unknown))}")
    yield from (f"--cap-drop={name}" for name in service["cap_drop"])
    for name, value in service["environment"].items():
        yield f"--env={name}" if value is None else f"--env={name}={value}"
    yield f"--network={project}_{min(service['networks'])}"
    for option in service["security_opt"]:
        yield f"--security-opt={option.replace('seccomp:', 'seccomp=')}"
    yield from (f"--tmpfs={mount}" for mount in service["tmpfs"])
    yield from (f"--volume={project}_{volume}" for volume in service["volumes"])
    yield f"--log-driver={service['logging']['driver']}"
    yield from (
        f"--log-opt={name}={value}" for name, value in service["logging"]["options"].items()
    )
    yield f"--init={str(service['init']).lower()}"
    yield f"--read-only={str(service['read_only']).lower()}"
    yield f"--memory={service['mem_limit']}"
    yield f"--pids-limit={service['pids_limit']}"
    yield f"--restart={service['restart']}"
    yield f"--stop-timeout={service['stop_grace_period'].removesuffix('s')}"
    yield service["image"]


def main() -> None:
    """Read the compose file, in which v1 has replaced variables, and print a service's flags."""
    project, name = sys.argv[1:]
    print("\n".join(flags(project, yaml.safe_load(sys.stdin)["services"][name])))


if __name__ == "__main__":
    main()
