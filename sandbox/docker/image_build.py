"""Builds the sandboxes' image through the Docker SDK, on the engine that DOCKER_HOST names.

Without a registry, this packs and imports this machine's Python and the environment that
`make install` made, in about 10 s. With a base image, `deploy/Dockerfile` builds the same from
locked packages. The label `fettle.base` has a digest of the parts that are not Fettle's. If the
engine's image has both labels already, it is not built again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import docker
from docker.errors import BuildError, ImageNotFound
from docker.utils import parse_repository_tag

from sandbox import policy
from sandbox.docker import image, packing

BASE_LABEL = "fettle.base"
_TOP = Path(__file__).resolve().parents[2]
_DOCKERFILE = "deploy/Dockerfile"
_BUILD_ARGUMENTS = ("SANDBOX_PACKAGES", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")
_NAME_SERVICE = "libnss_myhostname.so.2"
_LOG_LINES = 15
_FONTS_SCRIPT = Path(__file__).with_name("bundled_fonts.py")


def build_image(name: str, environment: Path, base_image: str) -> str:
    """Build the image `name`, unless the engine has it; returns a message for the operator.

    `environment` is the sandbox's virtual environment, which is packed if `base_image` is empty.
    Raises docker.errors.DockerException, and OSError or CalledProcessError if packing fails.
    """
    with contextlib.closing(docker.from_env()) as engine:
        labels = {image.LABEL: image.digest(), BASE_LABEL: _base_digest(environment, base_image)}
        if _read_labels(engine, name).items() >= labels.items():
            return f"{name} is up to date"
        if base_image:
            _build_from_base(engine, name, base_image, labels)
        else:
            _import_from_this_machine(engine, name, environment, labels)
        megabytes = engine.images.get(name).attrs["Size"] / 1e6
        return f"made {name}: {megabytes:.0f} MB"


def _read_labels(engine: docker.DockerClient, name: str) -> Mapping[str, str]:
    try:
        return dict(engine.images.get(name).labels)
    except ImageNotFound:
        return {}


def _base_digest(environment: Path, base_image: str) -> str:
    """A digest of the parts of the image that are not Fettle's."""
    if base_image:
        packages = os.environ.get("SANDBOX_PACKAGES", "sandbox")
        recipes = [_TOP / f"requirements/{packages}.lock", _TOP / _DOCKERFILE]
        base = base_image
    else:
        recipes = [Path(packing.__file__)]
        base = subprocess.check_output([environment / "bin" / "python", "-VV"], text=True)
        base += "".join(_list_files(environment))
    digest = hashlib.sha256(base.encode())
    for recipe in recipes:
        digest.update(hashlib.sha256(recipe.read_bytes()).digest())
    return digest.hexdigest()


def _list_files(environment: Path) -> Iterator[str]:
    """The environment's files except bytecode, each with its size and time."""
    for folder, folders, names in os.walk(environment):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for name in sorted(names):
            status = os.lstat(os.path.join(folder, name))  # noqa: PTH118 - ten thousand files
            yield f"{folder}/{name} {status.st_size} {status.st_mtime_ns}\n"


def _build_from_base(
    engine: docker.DockerClient, name: str, base_image: str, labels: Mapping[str, str]
) -> None:
    arguments = {name: os.environ[name] for name in _BUILD_ARGUMENTS if name in os.environ}
    try:
        engine.images.build(
            path=str(_TOP),
            dockerfile=_DOCKERFILE,
            target="sandbox",
            buildargs={"BASE_IMAGE": base_image, **arguments},
            labels=dict(labels),
            tag=name,
            rm=True,
        )
    except BuildError as error:
        lines = [line for entry in error.build_log for line in entry.get("stream", "").splitlines()]
        error.add_note("\n".join(lines[-_LOG_LINES:]))
        raise


def _import_from_this_machine(
    engine: docker.DockerClient, name: str, environment: Path, labels: Mapping[str, str]
) -> None:
    with _overlay(environment) as overlay, tempfile.NamedTemporaryFile(suffix=".tar") as archive:
        packing.pack(environment, overlay, archive)
        archive.flush()
        repository, tag = parse_repository_tag(name)
        engine.api.import_image(
            archive.name,
            repository=repository,
            tag=tag,
            changes=[f"LABEL {key}={value}" for key, value in labels.items()],
        )


@contextlib.contextmanager
def _overlay(environment: Path) -> Iterator[Path]:
    """Make a folder with the image's files that are not of Python or the environment."""
    with tempfile.TemporaryDirectory(prefix="fettle-image-") as folder:
        overlay = Path(folder)
        image.write_files(overlay)
        python, agent = environment / "bin" / "python", overlay / policy.AGENT_ROOT.lstrip("/")
        # Bytecode, because the root is read-only, and matplotlib's list of its own fonts.
        compile_options = ("-m", "compileall", "-q", "-s", folder, "-p", "/")
        subprocess.run(
            [python, "-I", *compile_options, "--invalidation-mode", "unchecked-hash", agent],
            check=True,
        )
        variables = {"MPLCONFIGDIR": str(agent / "fonts")}
        subprocess.run([python, "-I", _FONTS_SCRIPT], env=variables, check=True)
        with tempfile.TemporaryDirectory(prefix="fettle-package-") as unpacked:
            if (module := _find_name_service(Path(unpacked))) is None:
                sys.stderr.write(
                    f"{_NAME_SERVICE} was not found: sandboxes will not know the name localhost, "
                    "only 127.0.0.1\n"
                )
            else:
                target = overlay / "usr/lib" / module.parent.name / _NAME_SERVICE
                target.parent.mkdir(parents=True)
                shutil.copyfile(module, target)
                target.chmod(0o755)
        yield overlay


def _find_name_service(folder: Path) -> Path | None:
    """Find the module that resolves the name localhost. The engine empties an image's /etc/hosts,
    so that file cannot resolve it. The module comes from this machine, or from its Debian package,
    which is unpacked into `folder`."""
    libraries = subprocess.run(
        ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False
    )
    if match := re.search(rf"{re.escape(_NAME_SERVICE)} .*=> (\S+)", libraries.stdout):
        return Path(match[1])
    if shutil.which("apt-get") is None:
        return None
    download = ["apt-get", "download", "libnss-myhostname"]
    process = subprocess.run(download, cwd=folder, capture_output=True, check=False)
    if process.returncode:
        subprocess.run(["apt-get", "update"], capture_output=True, check=False)
        subprocess.run(download, cwd=folder, capture_output=True, check=False)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
    return next(folder.rglob(_NAME_SERVICE), None)
