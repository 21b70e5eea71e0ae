"""`python -m lab.drills.attacks`: exit 0 if every backend withstood every attack.

The program starts itself again (`--canary DESCRIPTOR`), because some canaries exist only in a
process that has had them from its start: a canary in its environment block, and an inherited
descriptor. The settings FETTLE_SANDBOX_* choose the sandbox, as for a worker.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping
from tempfile import TemporaryFile

import click

from cli.output import Screen, print_json
from cli.render.parts import Tone
from lab.drills.attacks import suite
from lab.drills.attacks.attack import Attack
from lab.drills.attacks.backends import TriedBackend, backend
from lab.drills.attacks.environment.host import (
    SECRET_LETTERS,
    START,
    VARIABLE,
    HostEnvironment,
    host_environment,
)
from lab.drills.attacks.environment.netspace import Netspace, enter
from lab.drills.attacks.options import attack_options
from lab.drills.attacks.outcome import AttackOutcome, VerdictKind
from lab.drills.attacks.runner import Runner
from lab.drills.attacks.summary import HEADS, failures, last_line, passed, printed, rows, summary
from sandbox.protocol import SandboxUnavailable
from settings.client import child_environment
from settings.sandbox import SandboxSettings

_PR_SET_PDEATHSIG = 1


@click.command()
@attack_options
@click.option("--canary", type=int, hidden=True, help="the descriptor of the canary file")
def main(
    backends: tuple[str, ...],
    globs: tuple[str, ...],
    listing: bool,
    as_json: bool,
    canary: int | None,
) -> None:
    """Try every attack of the suite on the sandbox of this machine."""
    if canary is None:
        sys.exit(_with_canaries())
    _end_in_order()
    screen = Screen(stderr=as_json)
    attacks = suite.attacks(globs)
    if listing:
        screen.rows(("NAME", "TRIES"), [(name, attack.tries) for name, attack in attacks.items()])
        return
    tried_backends = [backend(name) for name in backends or (SandboxSettings().sandbox,)]
    netspace = _netspace(screen)
    secret = os.pread(canary, 4096, 0).decode()
    try:
        with host_environment(secret, canary, netspace) as host:
            outcomes = asyncio.run(_all(attacks, tried_backends, host, screen))
            harmed = host.harmed()
    except KeyboardInterrupt:
        screen.line("stopped", "the drill was ended before its end", Tone.BAD)
        sys.exit(130)
    _show(screen, outcomes)
    for file in harmed:
        screen.line("harmed", f"the canary file {file} was changed", Tone.BAD)
    if as_json:
        print_json(summary(outcomes))
    sys.exit(0 if passed(outcomes) and not harmed else 1)


def _with_canaries() -> int:
    """Plant these canaries, and start this command again; returns its exit code."""
    secret = "".join(START) + secrets.token_hex(SECRET_LETTERS // 2)
    with TemporaryFile() as canary:
        canary.write(secret.encode())
        canary.flush()
        safely = ["-P"] if sys.flags.safe_path else []
        command = [sys.executable, *safely, "-m", "lab.drills.attacks", *sys.argv[1:]]
        process = subprocess.Popen(
            [*command, "--canary", str(canary.fileno())],
            env=child_environment({VARIABLE: secret}),
            pass_fds=(canary.fileno(),),
        )
        # Ctrl-C reaches the new process directly; other signals are passed on.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda _number, _frame: process.terminate())
        code = process.wait()
    return code if code >= 0 else 128 - code


def _end_in_order() -> None:
    """Clean up even if a signal ends the drill, or if the process that started it ends."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _netspace(screen: Screen) -> Netspace | None:
    try:
        return enter()
    except OSError as error:
        text = f"no network namespace of the drill's own ({error}): no stand-ins for other hosts"
        screen.line("network", text, Tone.BAD)
        return None


async def _all(
    attacks: Mapping[str, Attack],
    tried_backends: list[TriedBackend],
    host: HostEnvironment,
    screen: Screen,
) -> list[AttackOutcome]:
    def report(outcome: AttackOutcome) -> None:
        kind = outcome.verdict.kind
        heading = f"{outcome.name} on {outcome.backend}, {outcome.seconds:.1f} s"
        evidence = printed(outcome.verdict.evidence or outcome.control)
        tone = Tone.GOOD if outcome.is_held else Tone.BAD if outcome.failed else Tone.WARN
        screen.line(kind, f"{heading}: {evidence}", tone)

    runner = Runner(host, SandboxSettings().sandbox_python, report)
    outcomes: list[AttackOutcome] = []
    for tried in tried_backends:
        try:
            outcomes += await runner.run(attacks, tried)
        except SandboxUnavailable as error:
            screen.line(VerdictKind.BROKEN, f"{tried.name} does not work here: {error}", Tone.BAD)
            sys.exit(1)
    return outcomes


def _show(screen: Screen, outcomes: list[AttackOutcome]) -> None:
    screen.title("attacks")
    if not screen.drawing:  # a pipe gets rows only, and there these are plain numbers
        screen.text("\t".join(HEADS))
    screen.rows(HEADS, rows(outcomes))
    for failure in failures(outcomes):
        screen.line("failed", failure, Tone.BAD)
    screen.line("held" if passed(outcomes) else "failed", last_line(outcomes))


if __name__ == "__main__":
    main()
