"""The `fettle` command. Each command is a module of `cli.commands`, loaded when it is called.

The commands of the laboratory belong to a distribution of their own, `fettle-lab`, which registers
them as entry points of the group `fettle.commands` (docs/decisions/0090-a-separate-laboratory.md).
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import click

from cli.errors import BadSettings, CliError, of_system
from cli.exit_codes import HELP
from cli.signals import Stopped
from settings.reading.config_file import ConfigFileError, name_file

COMMANDS = {
    "jobs": {
        "run": "Submit a task, show its progress, print its answer.",
        "list": "List jobs, newest first.",
        "show": "Show a job: plan, runs, verdict, answer, cost.",
        "watch": "Follow a job to its end.",
        "review": "Decide a job's open review.",
        "cancel": "Cancel a job.",
        "delete": "Delete a job that has ended, for good.",
        "retry": "Retry a failed or cancelled job as a new one, from where it stopped.",
        "rebase": "Carry a job's approved change on, onto where its branch is now.",
        "patch": "Write what a job has changed in its repository.",
        "apply": "Apply a job's patch to the repository here.",
        "replay": "Play a finished job again, offline, and compare.",
        "export": "Write a job's transcript: Markdown or JSON.",
    },
    "local": {
        "up": "Run everything for daily use: Redis, API, workers, Flower.",
        "demo": "Run five jobs through a throw-away deployment, and show them.",
        "flower": "Run Flower, Celery's pages, over this deployment's broker.",
    },
    "admin": {
        "doctor": "Check whether a job could run here, and say what is missing.",
        "config": "Show every setting, and where its value came from.",
        "models": "List the models and their prices; --check asks each of them.",
        "keys": "Create, list and revoke API keys.",
        "tenants": "List tenants, and limit what each may spend.",
        "decisions": "Export who decided what, for auditors.",
        "webhooks": "List webhook messages that have not arrived.",
        "fleet": "Show and change the rules for all workers: leases, retries, retention.",
        "drain": "Drain a worker: it returns its jobs to the queue and stops.",
    },
}
"""By package of `cli.commands`: each command and its line under `--help`."""
LABORATORY = {
    "bench": "Measure how good the agent is at exercises with hidden tests.",
    "chaos": "Break everything under load, and check whether any job is lost.",
    "attack": "Try the attack suite on the sandbox of this machine.",
}
"""The commands of `fettle-lab`, and their lines under `--help`."""
ENTRY_POINTS = "fettle.commands"
"""The group in which a distribution registers a `click.Command` as a command of `fettle`."""
TITLES = {"jobs": "Jobs", "local": "On this machine", "admin": "The deployment"}
"""The heading of each package under `--help`."""


class LazyGroup(click.Group):
    """Knows its commands by name and line, so that `--help` loads none of them."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names of all commands, in order of use."""
        names = [name for commands in COMMANDS.values() for name in commands]
        return [*names, *_registered_commands()]

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command. Raises CliError for a command of `fettle-lab` without `fettle-lab`."""
        command: click.Command
        for package, commands in COMMANDS.items():
            if cmd_name in commands:
                command = import_module(f"cli.commands.{package}.{cmd_name}").command
                return command
        if registered := _registered_commands().get(cmd_name):
            command = registered.load()
            return command
        if cmd_name in LABORATORY:
            raise CliError(
                f"`fettle {cmd_name}` needs the distribution fettle-lab, which is not installed",
                next_step="in a clone of Fettle's repository: make install",
            )
        return None

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The lists under `--help`."""
        for package, commands in COMMANDS.items():
            with formatter.section(TITLES[package]):
                formatter.write_dl(list(commands.items()))
        if names := _registered_commands():
            with formatter.section("Other distributions"):
                formatter.write_dl([(name, LABORATORY.get(name, "")) for name in names])


def _registered_commands() -> dict[str, EntryPoint]:
    """The commands of other distributions, by name. Loads none of them."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


@click.group(
    cls=LazyGroup,
    epilog=HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="fettle", message="%(prog)s %(version)s")
@click.option("--url", metavar="URL", help="The service's address (else FETTLE_URL).")
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="The file of settings (else FETTLE_CONFIG).",
)
@click.pass_context
def fettle(ctx: click.Context, url: str | None, config: Path | None) -> None:
    """Hand over a coding task in plain English, get back code that has been run."""
    if config is not None:
        name_file(config)
    ctx.obj = {"url": url} if url else {}


def run(args: list[str]) -> int:
    """Run one command; returns its exit code."""
    try:
        result = fettle.main(args, prog_name="fettle", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        return _stopped(error)
    except BrokenPipeError:
        return _reader_left()
    except ConfigFileError as error:
        return _show(BadSettings(str(error)))
    except CliError as error:
        return _show(error)
    except OSError as error:
        return _show(of_system(error))
    return result if isinstance(result, int) else 0


def _stopped(error: BaseException) -> int:
    """128 + the signal. What click raises instead of our own exception has it as its cause."""
    click.echo("stopped", err=True)
    cause: object = error.__cause__ or error
    return cause.exit_code if isinstance(cause, Stopped) else 128 + signal.SIGINT


def _reader_left() -> int:
    """Nobody reads stdout any more (`fettle list | head -1`): end without a word, as others do."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + signal.SIGPIPE


def _show(error: CliError) -> int:
    click.secho(f"error: {error.title}", err=True, fg="red", bold=True)
    for line in (error.detail, error.next_step):
        if line:
            click.echo(f"       {line}", err=True)
    return error.exit_code
