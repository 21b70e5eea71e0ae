"""`fettle attack`: the attack suite, on the sandbox of this machine."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence

import click

from cli import bubblewrap
from cli.context import load
from cli.engine_flags import engine_flags
from cli.screen import Screen
from cli.signals import Stopped
from drills.engine import USUAL, engine
from settings.sandbox import Backend, SandboxSettings


@click.command()
@click.option(
    "--backend",
    "names",
    type=click.Choice([each.value for each in Backend]),
    multiple=True,
    help="May be given again; else as FETTLE_SANDBOX says.",
)
@click.option(
    "--only",
    "globs",
    metavar="GLOB",
    multiple=True,
    help="Attacks by name, such as 'network/*'; may be given again.",
)
@click.option("--list", "listing", is_flag=True, help="Tell the attacks, run none.")
@click.option(
    "--own-engine", is_flag=True, help="For docker: one of its own, as root, if none is set."
)
@click.option("--json", "as_json", is_flag=True, help="The last line of stdout is one object.")
def command(
    *,
    names: tuple[str, ...],
    globs: tuple[str, ...],
    listing: bool,
    own_engine: bool,
    as_json: bool,
) -> int:
    """Try to break out of the sandbox on this machine; exit 1 where any attack got through.

    Each attack has a control that shows it would notice success. Canaries and stand-ins are on this
    machine alone: nothing is sent to any other address. `docker` uses the engine that
    FETTLE_SANDBOX_ENGINE names; without one, as root, an engine of its own is started.
    """
    settings = load(SandboxSettings)
    wanted = [Backend(name) for name in names] or [settings.sandbox]
    flags = [flag for name in wanted for flag in ("--backend", name)]
    flags += [flag for glob in globs for flag in ("--only", glob)]
    flags += ["--json"] if as_json else []
    if listing:
        return _drill([*flags, "--list"])
    if Backend.LOCAL in wanted:
        bubblewrap.ensure()
    if Backend.DOCKER not in wanted:
        return _drill([*flags, "--python", str(settings.sandbox_python)])
    screen = Screen(stderr=as_json)
    docker = settings.model_copy(update={"sandbox": Backend.DOCKER})
    usual = None if own_engine else USUAL
    with engine(docker, lambda text: screen.line("engine", text), usual) as ready:
        return _drill([*flags, "--python", str(settings.sandbox_python), *engine_flags(ready)])


def _drill(flags: Sequence[str]) -> int:
    """Run the suite in a process of its own; returns its exit code when it has cleared up."""
    # -P: a folder `drills` in the user's own project must not stand in for ours.
    process = subprocess.Popen([sys.executable, "-P", "-m", "drills.attacks", *flags])
    try:
        return process.wait()
    except KeyboardInterrupt as stopped:
        if isinstance(stopped, Stopped) and stopped.exit_code != 128 + signal.SIGINT:
            process.terminate()  # a terminal's Ctrl-C has reached it too, another signal has not
        process.wait()
        raise
