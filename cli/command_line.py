"""The `fettle` command. A command's module is loaded when the command is called.

The commands of the laboratory belong to a distribution of their own, `fettle-lab`, which registers
them as entry points of the group `fettle.commands` (ADR 90).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import click

from cli.errors import BadSettings, CliError, from_client, of_system
from cli.exit_codes import HELP
from cli.signals import StoppedBySignal
from fettle.errors import FettleError
from settings.reading.config_file import ConfigFileError, name_file


@dataclass(frozen=True, slots=True)
class CommandSection:
    """A section of the list under `--help`."""

    title: str
    commands: Mapping[str, tuple[str, str]]
    """The commands, by name: the click command as `module:attribute`, and its line."""


SECTIONS = (
    CommandSection(
        "Jobs",
        {
            "run": (
                "cli.commands.jobs.run:run_command",
                "Submit a task, show its progress, print its answer.",
            ),
            "chat": (
                "cli.commands.jobs.chat:chat_command",
                "Chat: submit tasks, follow them and decide, in one conversation.",
            ),
            "conversations": (
                "cli.commands.jobs.conversations:conversations_command",
                "List conversations, or show the tasks and answers of one.",
            ),
            "batch": (
                "cli.commands.jobs.batch:batch_command",
                "Count or cancel the jobs of a batch.",
            ),
            "list": ("cli.commands.jobs.reading:list_command", "List jobs, newest first."),
            "show": (
                "cli.commands.jobs.reading:show_command",
                "Show a job: plan, runs, verdict, answer, cost.",
            ),
            "watch": ("cli.commands.jobs.reading:watch_command", "Follow a job to its end."),
            "review": ("cli.commands.jobs.review:review_command", "Decide a job's open review."),
            "message": (
                "cli.commands.jobs.lifecycle:message_command",
                "Send a message to a job that has not ended.",
            ),
            "claim": (
                "cli.commands.jobs.lifecycle:claim_command",
                "Claim, assign or release a job's open review.",
            ),
            "cancel": ("cli.commands.jobs.lifecycle:cancel_command", "Cancel a job."),
            "delete": (
                "cli.commands.jobs.lifecycle:delete_command",
                "Delete a job that has ended, for good.",
            ),
            "retry": (
                "cli.commands.jobs.lifecycle:retry_command",
                "Retry a failed or cancelled job as a new job, which continues its work.",
            ),
            "fork": (
                "cli.commands.jobs.lifecycle:fork_command",
                "Run a job again as a new job, with another model, task or start.",
            ),
            "compare": (
                "cli.commands.jobs.compare:compare_command",
                "Compare the outcomes and the files of jobs.",
            ),
            "rebase": (
                "cli.commands.jobs.lifecycle:rebase_command",
                "Merge a job's approved change with the present state of its branch.",
            ),
            "patch": (
                "cli.commands.jobs.patches:patch_command",
                "Write a job's patch to a file or to stdout.",
            ),
            "apply": (
                "cli.commands.jobs.patches:apply_command",
                "Apply a job's patch to the repository in this directory.",
            ),
            "replay": (
                "cli.commands.jobs.replay:replay_command",
                "Play a finished job again, offline, and compare.",
            ),
            "export": (
                "cli.commands.jobs.reading:export_command",
                "Write a job's transcript: Markdown or JSON.",
            ),
            "mcp": (
                "cli.commands.jobs.mcp:mcp_command",
                "Serve jobs to an agent in an editor, over stdin and stdout.",
            ),
        },
    ),
    CommandSection(
        "On this machine",
        {
            "up": (
                "cli.commands.local.up:up_command",
                "Run everything for daily use: Redis, API, workers, Flower.",
            ),
            "demo": (
                "cli.commands.local.demo:demo_command",
                "Run five jobs through a temporary deployment, and show them.",
            ),
            "flower": (
                "cli.commands.local.flower:flower_command",
                "Run Flower, Celery's pages, over this deployment's broker.",
            ),
        },
    ),
    CommandSection(
        "The deployment",
        {
            "doctor": (
                "cli.commands.admin.machine:doctor_command",
                "Check whether a job can run here, and list what is missing.",
            ),
            "config": (
                "cli.commands.admin.machine:config_command",
                "Show every setting, and the source of its value.",
            ),
            "models": (
                "cli.commands.admin.models:models_command",
                "List the models and their prices; --check calls each of them.",
            ),
            "keys": ("cli.commands.admin.access:keys_command", "Create, list and revoke API keys."),
            "tenants": (
                "cli.commands.admin.access:tenants_command",
                "List tenants, and limit what each may spend.",
            ),
            "decisions": (
                "cli.commands.admin.records:decisions_command",
                "Export all decisions on reviews, for auditors.",
            ),
            "audit": (
                "cli.commands.admin.audit:audit_command",
                "List, export and verify the audit log.",
            ),
            "webhooks": (
                "cli.commands.admin.records:webhooks_command",
                "Manage the webhooks of tenants; list messages that have not arrived.",
            ),
            "fleet": (
                "cli.commands.admin.fleet:fleet_command",
                "Show and change the rules for all workers: leases, retries, retention.",
            ),
            "review-rules": (
                "cli.commands.admin.review_rules:review_rules_command",
                "Show and change the operator's review rules.",
            ),
            "drain": (
                "cli.commands.admin.fleet:drain_command",
                "Drain a worker: it returns its jobs to the queue and stops.",
            ),
        },
    ),
)
LABORATORY = {
    "bench": "Measure how good the agent is at exercises with hidden tests.",
    "chaos": "Break everything under load, and check whether any job is lost.",
    "attack": "Try the attack suite on the sandbox of this machine.",
}
"""The commands of `fettle-lab`, and their lines under `--help`."""
ENTRY_POINTS = "fettle.commands"
"""The group in which a distribution registers a `click.Command` as a command of `fettle`."""


class LazyGroup(click.Group):
    """A group that knows the names and lines of its commands, so that `--help` loads no command."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names of all commands, in order of use."""
        names = [name for section in SECTIONS for name in section.commands]
        return [*names, *_registered_commands()]

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command. Raises CliError for a command of `fettle-lab` without `fettle-lab`."""
        if point := _product_commands().get(cmd_name) or _registered_commands().get(cmd_name):
            try:
                command: click.Command = point.load()
            except ModuleNotFoundError as error:
                if cmd_name not in LABORATORY or not f"{error.name}.".startswith("lab."):
                    raise  # an image has only a part of the laboratory
            else:
                return command
        if cmd_name in LABORATORY:
            raise CliError(
                f"`fettle {cmd_name}` needs the distribution fettle-lab, which is not installed",
                next_step="in a clone of Fettle's repository: make install",
            )
        return None

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and flush its output here: click ends without `_reader_left`, and the
        interpreter prints the error of a flush at its own end."""
        try:
            result = super().invoke(ctx)
            click.echo(nl=False)  # flushes stdout, if stdout is open
        except BrokenPipeError:
            return _reader_left()
        return result

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The lists under `--help`."""
        for section in SECTIONS:
            with formatter.section(section.title):
                formatter.write_dl([(name, line) for name, (_, line) in section.commands.items()])
        if names := _registered_commands():
            with formatter.section("Other distributions"):
                formatter.write_dl([(name, LABORATORY.get(name, "")) for name in names])


def _product_commands() -> dict[str, EntryPoint]:
    """The commands of this package, by name. No command is loaded."""
    return {
        name: EntryPoint(name, reference, ENTRY_POINTS)
        for section in SECTIONS
        for name, (reference, _) in section.commands.items()
    }


def _registered_commands() -> dict[str, EntryPoint]:
    """The commands of other distributions, by name. No command is loaded."""
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
    except ConfigFileError as error:
        return _show(BadSettings(str(error)))
    except CliError as error:
        return _show(error)
    except FettleError as error:
        return _show(from_client(error))
    except OSError as error:
        return _show(of_system(error))
    return result if isinstance(result, int) else 0


def _stopped(error: BaseException) -> int:
    """Return 128 + the number of the signal. If click raised its own exception, `StoppedBySignal`
    is its cause."""
    click.echo("stopped", err=True)
    cause: object = error.__cause__ or error
    return cause.exit_code if isinstance(cause, StoppedBySignal) else 128 + signal.SIGINT


def _reader_left() -> int:
    """The reader of stdout has ended (`fettle list | head -1`): end without a message."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + signal.SIGPIPE


def _show(error: CliError) -> int:
    click.secho(f"error: {error.title}", err=True, fg="red", bold=True)
    for line in (error.detail, error.next_step):
        if line:
            click.echo(f"       {line}", err=True)
    return error.exit_code
