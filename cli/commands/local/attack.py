"""`fettle attack`: the attack suite, on the sandbox of this machine."""

from __future__ import annotations

import click

from cli.context import load
from cli.drill import drill
from cli.local import bubblewrap
from cli.output import Screen
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

    Each attack has a control that shows it would notice success. Nothing is sent to another
    machine. `docker` uses the engine that FETTLE_SANDBOX_ENGINE names; without one, as root, an
    engine of its own is started.
    """
    settings = load(SandboxSettings)
    wanted = [Backend(name) for name in names] or [settings.sandbox]
    flags = [flag for name in wanted for flag in ("--backend", name)]
    flags += [flag for glob in globs for flag in ("--only", glob)]
    flags += ["--json"] if as_json else []
    if listing:
        return drill("attacks", [*flags, "--list"])
    if Backend.LOCAL in wanted:
        bubblewrap.ensure()
    if Backend.DOCKER not in wanted:
        return drill("attacks", flags)
    screen = Screen(stderr=as_json)
    docker = settings.model_copy(update={"sandbox": Backend.DOCKER})
    usual = None if own_engine else USUAL
    with engine(docker, lambda text: screen.line("engine", text), usual) as ready:
        return drill("attacks", flags, {"FETTLE_SANDBOX_ENGINE": str(ready.sandbox_engine)})
