"""The Docker engine of a drill or a benchmark: the configured engine, or a new engine. For
questions about the user's deployment, it is the engine that a worker would use.

`deploy/engine.sh` starts a new engine, and `deploy/sandbox-image.sh` builds the image of the
sandboxes; both are removed at the end.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cli.errors import CliError
from cli.signals import Signals
from settings.client import child_environment
from settings.sandbox import Backend, SandboxSettings

USUAL = "unix:///var/run/docker.sock"
"""The address at which a worker looks for an engine without a setting
(`sandbox/docker/connection.py`)."""
_DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
_WORDS = 15
_ANSWER_SECONDS = 5.0


@contextmanager
def engine(
    settings: SandboxSettings, say: Callable[[str], None], usual: str | None = None
) -> Iterator[SandboxSettings]:
    """Yield the settings with an engine that answers; `say` gets lines on the progress. `usual` is
    the address that a worker uses without a setting: if an engine answers there, it is used here,
    too.

    Raises CliError if no engine answers and no engine can be started.
    """
    if settings.sandbox is not Backend.DOCKER or settings.sandbox_engine is not None:
        yield settings
        return
    if usual is not None and _answers(usual):
        say(f"{usual}, as a worker would take it")
        yield settings.model_copy(update={"sandbox_engine": usual})
        return
    if os.geteuid() != 0:
        raise CliError(
            "an engine of its own takes root",
            "the backend docker needs an engine",
            "name yours: FETTLE_SANDBOX_ENGINE=unix:///run/user/1000/docker.sock",
        )
    with (
        Signals() as signals,
        TemporaryDirectory(prefix="fettle-engine-", ignore_cleanup_errors=True) as folder,
    ):
        say("starting one, by deploy/engine.sh")
        owner = str(os.getpid())  # the engine ends with this process, in any case
        try:
            address = _script("engine.sh", "start", folder, owner).splitlines()[-1]
            built = _script("sandbox-image.sh", settings.sandbox_image, env=_at(address))
            say(f"{address}; {built.splitlines()[-1]}")
            yield settings.model_copy(update={"sandbox_engine": address})
        finally:
            signals.hold()
            _script("engine.sh", "stop", folder)


def _answers(address: str) -> bool:
    """Whether a server listens at this unix socket, and accepts this user."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(_ANSWER_SECONDS)
        try:
            asking.connect(address.removeprefix("unix://"))
        except OSError:
            return False
    return True


def _at(address: str) -> Mapping[str, str]:
    return {"DOCKER_HOST": address}


def _script(name: str, *words: str, env: Mapping[str, str] | None = None) -> str:
    """Run one of the project's scripts; returns its output. Raises CliError with the end of its
    error output.
    """
    done = subprocess.run(
        [str(_DEPLOY / name), *words],
        env=child_environment(env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        text = "\n".join((done.stdout + done.stderr).splitlines()[-_WORDS:])
        raise CliError(f"deploy/{name} {words[0]} failed ({done.returncode})", text)
    return done.stdout.strip()
