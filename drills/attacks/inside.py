"""The drill's process: `python -m drills.attacks.inside DESCRIPTOR [options]`."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from cli.output import Screen, print_json
from cli.render.parts import Tone
from drills.attacks import backends, suite
from drills.attacks.attack import Attack
from drills.attacks.backends import Backend, BackendOptions
from drills.attacks.environment.host import HostEnvironment, host_environment
from drills.attacks.environment.netspace import Netspace, enter
from drills.attacks.outcome import Kind, Outcome
from drills.attacks.runner import Runner
from drills.attacks.summary import HEADS, failures, last_line, passed, printed, rows, summary
from sandbox.protocol import SandboxUnavailable

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
_PR_SET_PDEATHSIG = 1


@click.command()
@click.argument("descriptor", type=int)
@click.option("--backend", "names", multiple=True, type=click.Choice(backends.NAMES))
@click.option("--only", multiple=True, metavar="GLOB", help="Of names such as resources/fork_bomb.")
@click.option("--list", "listing", is_flag=True, help="List the attacks, run none.")
@click.option("--json", "as_json", is_flag=True, help="The last line of stdout is one object.")
@click.option("--python", type=click.Path(path_type=Path), default=PYTHON, help="For local.")
@click.option("--image", default="fettle-sandbox", help="For docker.")
@click.option("--engine", default="", help="For docker: where the engine listens.")
@click.option("--tls", default="", help="For docker: a folder with ca.pem, cert.pem, key.pem.")
@click.option("--runtime", default="", help="For docker: runsc, kata.")
def main(
    descriptor: int,
    names: tuple[str, ...],
    only: tuple[str, ...],
    listing: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Try every attack of the suite on the sandbox of this machine."""
    _end_in_order()
    screen = Screen(stderr=as_json)
    attacks = suite.attacks(only)
    if listing:
        screen.rows(("NAME", "TRIES"), [(name, each.tries) for name, each in attacks.items()])
        return
    options = BackendOptions(**given)
    made = [backends.backend(name, options) for name in names or ("local",)]
    netspace = _netspace(screen)
    secret = os.pread(descriptor, 4096, 0).decode()
    try:
        with host_environment(secret, descriptor, netspace) as host:
            outcomes = asyncio.run(_all(attacks, made, host, options.python, screen))
            harmed = host.harmed()
    except KeyboardInterrupt:
        screen.line("stopped", "the drill was ended before its end", Tone.BAD)
        sys.exit(130)
    _show(screen, outcomes)
    for each in harmed:
        screen.line("harmed", f"the canary file {each} was changed", Tone.BAD)
    if as_json:
        print_json(summary(outcomes))
    sys.exit(0 if passed(outcomes) and not harmed else 1)


def _end_in_order() -> None:
    """Clear up also where the drill is ended by a signal, or loses the process that started it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _netspace(screen: Screen) -> Netspace | None:
    try:
        return enter()
    except OSError as error:
        why = f"no network namespace of the drill's own ({error}): no stand-ins for other hosts"
        screen.line("network", why, Tone.BAD)
        return None


async def _all(
    attacks: Mapping[str, Attack],
    made: list[Backend],
    host: HostEnvironment,
    python: Path,
    screen: Screen,
) -> list[Outcome]:
    def report(outcome: Outcome) -> None:
        kind = outcome.verdict.kind
        place = f"{outcome.name} on {outcome.backend}, {outcome.seconds:.1f} s"
        evidence = printed(outcome.verdict.evidence or outcome.control)
        tone = Tone.GOOD if outcome.held else Tone.BAD if outcome.failed else Tone.WARN
        screen.line(kind, f"{place}: {evidence}", tone)

    runner = Runner(host, python, report)
    outcomes: list[Outcome] = []
    for backend in made:
        try:
            outcomes += await runner.run(attacks, backend)
        except SandboxUnavailable as error:
            screen.line(Kind.BROKEN, f"{backend.name} does not work here: {error}", Tone.BAD)
            sys.exit(1)
    return outcomes


def _show(screen: Screen, outcomes: list[Outcome]) -> None:
    screen.title("attacks")
    if not screen.drawing:  # a pipe is given rows alone, and here they are plain numbers
        screen.text("\t".join(HEADS))
    screen.rows(HEADS, rows(outcomes))
    for each in failures(outcomes):
        screen.line("failed", each, Tone.BAD)
    screen.line("held" if passed(outcomes) else "failed", last_line(outcomes))


if __name__ == "__main__":
    main()
