"""`fettle attack`: the attack suite, on the sandbox of this machine."""

from __future__ import annotations

import click

from cli.context import load
from cli.local import bubblewrap
from cli.output import Screen
from lab.commands.drill_process import drill_arguments, run_drill
from lab.drills.attacks.options import attack_options
from lab.drills.engine import USUAL, engine
from settings.sandbox import Backend, SandboxSettings

MODULE = "lab.drills.attacks"


@click.command()
@attack_options
@click.option(
    "--own-engine",
    is_flag=True,
    help="For docker without FETTLE_SANDBOX_ENGINE: start an engine, as root.",
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    backends: tuple[str, ...],
    listing: bool,
    own_engine: bool,
    as_json: bool,
    **_globs: tuple[str, ...],
) -> int:
    """Try to break out of the sandbox on this machine; exit 1 if any attack succeeds.

    Each attack has a control that shows that the attack would notice its success. No attack sends
    anything to another machine. `docker` uses the engine of FETTLE_SANDBOX_ENGINE. Without that
    setting, root gets a new engine for the time of the attacks.
    """
    arguments = drill_arguments(ctx, leave_out=("own_engine",))
    if listing:
        return run_drill(MODULE, arguments)
    settings = load(SandboxSettings)
    selected = [Backend(name) for name in backends] or [settings.sandbox]
    if Backend.LOCAL in selected:
        bubblewrap.ensure()
    if Backend.DOCKER not in selected:
        return run_drill(MODULE, arguments)
    screen = Screen(stderr=as_json)
    docker = settings.model_copy(update={"sandbox": Backend.DOCKER})
    usual = None if own_engine else USUAL
    with engine(docker, lambda text: screen.line("engine", text), usual) as ready:
        engine_address = {"FETTLE_SANDBOX_ENGINE": str(ready.sandbox_engine)}
        return run_drill(MODULE, arguments, engine_address)
