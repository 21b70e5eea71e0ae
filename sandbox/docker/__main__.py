"""`python -m sandbox.docker`: makes what the backend `docker` needs on its engine.

build [NAME]        builds the image (default: fettle-sandbox) on the engine that DOCKER_HOST names;
                    from FETTLE_SANDBOX_ENVIRONMENT (.venv/sandbox), or from FETTLE_BASE_IMAGE
files DIRECTORY     writes Fettle's files of the image below DIRECTORY, for deploy/Dockerfile
filter              prints the system call filter, as in deploy/seccomp-sandbox.json
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from subprocess import CalledProcessError

from sandbox.docker import image
from sandbox.seccomp import engine_profile


def main() -> None:
    """Do what the arguments say."""
    match sys.argv[1:]:
        case ["build", *names] if len(names) < 2:
            _build(*names)
        case ["files", directory]:
            image.write(Path(directory))
        case ["filter"]:
            print(json.dumps(engine_profile.profile(), indent=1))
        case _:
            sys.exit(__doc__)


def _build(name: str = "fettle-sandbox") -> None:
    try:
        from docker.errors import DockerException  # noqa: PLC0415 - an extra; the rest goes without

        from sandbox.docker.image_build.build import build  # noqa: PLC0415
    except ModuleNotFoundError:
        sys.exit("building an image needs Docker's client: pip install 'fettle[docker]'")
    environment = Path(os.environ.get("FETTLE_SANDBOX_ENVIRONMENT", ".venv/sandbox"))
    try:
        print(build(name, environment, os.environ.get("FETTLE_BASE_IMAGE", "")))
    except (DockerException, OSError, CalledProcessError) as error:
        notes = "\n".join(getattr(error, "__notes__", ()))
        where = os.environ.get("DOCKER_HOST", "the usual socket: DOCKER_HOST names another engine")
        sys.exit(f"{name} was not built on {where}\n{error}\n{notes}".strip())


main()
