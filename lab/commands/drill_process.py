"""Runs a drill in its own process, which cleans up before the command ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence

import click

from cli.signals import Signals, StoppedBySignal
from settings.client import child_environment


def run_drill(
    module: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None
) -> int:
    """Run `python -m MODULE ARGUMENTS`, and return its exit code.

    `environment` is added to this process's environment. Raises StoppedBySignal if a signal stops
    this process, after the drill has ended.
    """
    # -P: a folder `lab` in the user's own project must not shadow Fettle's.
    argv = [sys.executable, "-P", "-m", module, *arguments]
    with Signals() as signals:
        try:
            # As soon as the drill has started, a signal must end the drill, too.
            with signals.delayed():
                process = subprocess.Popen(argv, env=child_environment(environment or {}))
            return process.wait()
        except StoppedBySignal as stopped:
            signals.hold()  # the drill cleans up first, even if more signals arrive
            if stopped.exit_code != 128 + signal.SIGINT:
                process.terminate()  # only Ctrl-C reaches the drill without this
            process.wait()
            raise


def drill_arguments(ctx: click.Context, leave_out: Collection[str] = ()) -> list[str]:
    """The options of the running command as arguments for the drill, which has the same options."""
    arguments: list[str] = []
    for parameter in ctx.command.params:
        if parameter.name in leave_out:
            continue
        flag, value = parameter.opts[0], ctx.params[parameter.name or ""]
        if isinstance(value, bool):
            arguments += [flag] if value else []
        elif isinstance(value, tuple):
            arguments += [f"{flag}={item}" for item in value]
        elif value is not None:
            arguments.append(f"{flag}={value}")
    return arguments
