"""`python -m sandbox.docker`: builds the sandboxes' image, and prints its parts.

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
from sandbox.seccomp.filters import engine_profile


def main() -> None:
    """Run the command of the arguments."""
    match sys.argv[1:]:
        case ["build", *names] if len(names) < 2:
            _build(*names)
        case ["files", directory]:
            image.write_files(Path(directory))
        case ["filter"]:
            print(json.dumps(engine_profile(), indent=1))
        case _:
            sys.exit(__doc__)


def _build(name: str = "fettle-sandbox") -> None:
    try:
        # Only `build` needs Docker's client, an extra; the other commands work without it.
        from docker.errors import DockerException  # noqa: PLC0415

        from sandbox.docker.image_build import build_image  # noqa: PLC0415
    except ModuleNotFoundError:
        sys.exit("building an image needs Docker's client: pip install 'fettle[docker]'")
    environment = Path(os.environ.get("FETTLE_SANDBOX_ENVIRONMENT", ".venv/sandbox"))
    try:
        print(build_image(name, environment, os.environ.get("FETTLE_BASE_IMAGE", "")))
    except (DockerException, OSError, CalledProcessError) as error:
        notes = "\n".join(getattr(error, "__notes__", ()))
        engine = os.environ.get(
            "DOCKER_HOST", "the default socket (set DOCKER_HOST for another engine)"
        )
        sys.exit(f"{name} was not built on {engine}\n{error}\n{notes}".strip())


main()
