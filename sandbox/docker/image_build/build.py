"""Builds the sandboxes' image through the Docker SDK, on the engine that DOCKER_HOST names.

Without a registry, this machine's Python and the environment that `make install` made are packed
and imported, in about 10 s. With a base image, `deploy/Dockerfile` builds the same from locked
packages. The label `fettle.base` names what the image is built on: an image that has both labels
already is left as it is.
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
from sandbox.docker import image
from sandbox.docker.image_build import packing

BASE_LABEL = "fettle.base"
_TOP = Path(__file__).resolve().parents[3]
_DOCKERFILE = "deploy/Dockerfile"
_BUILD_ARGUMENTS = ("SANDBOX_PACKAGES", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")
_NAME_SERVICE = "libnss_myhostname.so.2"
_LOG_LINES = 15
_FONTS = Path(__file__).with_name("own_fonts.py")


def build(name: str, environment: Path, base_image: str) -> str:
    """Make the image `name`, unless the engine has it; returns what was done.

    `environment` is the sandbox's virtual environment, which is packed where `base_image` is empty.
    Raises docker.errors.DockerException, and OSError or CalledProcessError where packing fails.
    """
    with contextlib.closing(docker.from_env()) as engine:
        labels = {image.LABEL: image.digest(), BASE_LABEL: _stands_on(environment, base_image)}
        if _labels(engine, name).items() >= labels.items():
            return f"{name} is up to date"
        if base_image:
            _from_base(engine, name, base_image, labels)
        else:
            _from_this_machine(engine, name, environment, labels)
        megabytes = engine.images.get(name).attrs["Size"] / 1e6
        return f"made {name}: {megabytes:.0f} MB"


def _labels(engine: docker.DockerClient, name: str) -> Mapping[str, str]:
    try:
        return dict(engine.images.get(name).labels)
    except ImageNotFound:
        return {}


def _stands_on(environment: Path, base_image: str) -> str:
    """A digest of everything in the image that is not Fettle's."""
    if base_image:
        packages = os.environ.get("SANDBOX_PACKAGES", "sandbox")
        recipes = [_TOP / f"requirements/{packages}.lock", _TOP / _DOCKERFILE]
        base = base_image
    else:
        recipes = [Path(packing.__file__)]
        base = subprocess.check_output([environment / "bin" / "python", "-VV"], text=True)
        base += "".join(_files(environment))
    whole = hashlib.sha256(base.encode())
    for recipe in recipes:
        whole.update(hashlib.sha256(recipe.read_bytes()).digest())
    return whole.hexdigest()


def _files(environment: Path) -> Iterator[str]:
    """The environment's files, each with its size and time, but for bytecode."""
    for place, folders, names in os.walk(environment):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for name in sorted(names):
            status = os.lstat(os.path.join(place, name))  # noqa: PTH118 - ten thousand of them
            yield f"{place}/{name} {status.st_size} {status.st_mtime_ns}\n"


def _from_base(
    engine: docker.DockerClient, name: str, base_image: str, labels: Mapping[str, str]
) -> None:
    given = {each: os.environ[each] for each in _BUILD_ARGUMENTS if each in os.environ}
    try:
        engine.images.build(
            path=str(_TOP),
            dockerfile=_DOCKERFILE,
            target="sandbox",
            buildargs={"BASE_IMAGE": base_image, **given},
            labels=dict(labels),
            tag=name,
            rm=True,
        )
    except BuildError as error:
        lines = [line for each in error.build_log for line in each.get("stream", "").splitlines()]
        error.add_note("\n".join(lines[-_LOG_LINES:]))
        raise


def _from_this_machine(
    engine: docker.DockerClient, name: str, environment: Path, labels: Mapping[str, str]
) -> None:
    with _overlay(environment) as overlay, tempfile.NamedTemporaryFile(suffix=".tar") as packed:
        packing.pack(environment, overlay, packed)
        packed.flush()
        repository, tag = parse_repository_tag(name)
        engine.api.import_image(
            packed.name,
            repository=repository,
            tag=tag,
            changes=[f"LABEL {key}={value}" for key, value in labels.items()],
        )


@contextlib.contextmanager
def _overlay(environment: Path) -> Iterator[Path]:
    """A folder with what the image holds beside Python and the environment."""
    with tempfile.TemporaryDirectory(prefix="fettle-image-") as folder:
        overlay = Path(folder)
        image.write(overlay)
        python, home = environment / "bin" / "python", overlay / policy.AGENT_ROOT.lstrip("/")
        # Bytecode, since the root is read-only, and matplotlib's list of its own fonts.
        compiling = ("-m", "compileall", "-q", "-s", folder, "-p", "/")
        subprocess.run(
            [python, "-I", *compiling, "--invalidation-mode", "unchecked-hash", home], check=True
        )
        fonts = {"MPLCONFIGDIR": str(home / "fonts")}
        subprocess.run([python, "-I", _FONTS], env=fonts, check=True)
        with tempfile.TemporaryDirectory(prefix="fettle-package-") as unpacked:
            if (module := _name_service(Path(unpacked))) is None:
                sys.stderr.write(
                    f"no {_NAME_SERVICE} here: sandboxes will not know the name localhost, "
                    "only 127.0.0.1\n"
                )
            else:
                place = overlay / "usr/lib" / module.parent.name / _NAME_SERVICE
                place.parent.mkdir(parents=True)
                shutil.copyfile(module, place)
                place.chmod(0o755)
        yield overlay


def _name_service(folder: Path) -> Path | None:
    """The module that knows the name localhost, which an image's /etc/hosts cannot: the engine
    empties it. From this machine, or from its Debian package, unpacked into `folder`."""
    loaded = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False)
    if found := re.search(rf"{re.escape(_NAME_SERVICE)} .*=> (\S+)", loaded.stdout):
        return Path(found[1])
    if shutil.which("apt-get") is None:
        return None
    get = ["apt-get", "download", "libnss-myhostname"]
    done = subprocess.run(get, cwd=folder, capture_output=True, check=False)
    if done.returncode:
        subprocess.run(["apt-get", "update"], capture_output=True, check=False)
        subprocess.run(get, cwd=folder, capture_output=True, check=False)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
    return next(folder.rglob(_NAME_SERVICE), None)
