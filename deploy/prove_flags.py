#!/usr/bin/env python3
"""A service of docker-compose.yml as arguments of `docker create`, one a line.

docker-compose v1 cannot say `systempaths=unconfined`, which the `docker` command can. So where
there is v1 only, the proof starts its workers from this: the settings are still the compose file's.

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
    """Flags, then the image; of several networks the first by name.

    Raises ValueError for a setting that would be left out silently.
    """
    unknown = service.keys() - UNDERSTOOD
    if unknown:
        raise ValueError(f"not known here: {', '.join(sorted(unknown))}")
    yield from (f"--cap-drop={name}" for name in service["cap_drop"])
    for name, value in service["environment"].items():
        yield f"--env={name}" if value is None else f"--env={name}={value}"
    yield f"--network={project}_{min(service['networks'])}"
    for each in service["security_opt"]:
        yield f"--security-opt={each.replace('seccomp:', 'seccomp=')}"
    yield from (f"--tmpfs={each}" for each in service["tmpfs"])
    yield from (f"--volume={project}_{each}" for each in service["volumes"])
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
    """Read the compose file that v1 has filled in, write the flags of one service."""
    project, name = sys.argv[1:]
    print("\n".join(flags(project, yaml.safe_load(sys.stdin)["services"][name])))


if __name__ == "__main__":
    main()
