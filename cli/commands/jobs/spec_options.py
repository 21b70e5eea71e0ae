"""The options that ask for a job: one for each field of `JobRequest`.

`tests/unit/test_job_fields.py` fails if a field has no option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from api.schemas.steps import parse_step
from cli.parameters import Duration, Size

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

TEXT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

TERMS: tuple[Option, ...] = (
    click.option(
        "--review/--no-review", default=None, help="Whether a person decides before the critic."
    ),
    click.option(
        "--review-expires",
        "review_expires_seconds",
        metavar="TIME",
        type=Duration(),
        help="How long a review waits for a person, as in 2h.",
    ),
    click.option(
        "--on-expiry", type=click.Choice(["approve", "reject", "stay"]), help="What happens then."
    ),
    click.option(
        "--remind",
        "review_remind_seconds",
        metavar="TIME",
        type=Duration(),
        help="When an open review is announced again.",
    ),
    click.option(
        "--escalate",
        "review_escalate_seconds",
        metavar="TIME",
        type=Duration(),
        help="When an open review is escalated.",
    ),
    click.option("--approvals", type=click.IntRange(1, 2), help="People who have to approve."),
    click.option(
        "--pause",
        type=click.Choice(["before_critic", "every_run"]),
        help="When a reviewed job asks: before the critic, or also after every run of code.",
    ),
    click.option(
        "--setup",
        metavar="COMMAND",
        help="The shell command that installs the repository's dependencies, as in 'pip install "
        "-e .[test]'. Else its own files suggest one.",
    ),
    click.option("--no-setup", "setup", flag_value="", help="Install no dependencies."),
    click.option("--model", metavar="P:M", help="provider:model, from the operator's allow-list."),
    click.option(
        "--timeout",
        "timeout_seconds",
        metavar="TIME",
        type=Duration(),
        help="Bound on the running time, as in 30m.",
    ),
    click.option(
        "--run-time",
        "run_seconds",
        metavar="TIME",
        type=Duration(),
        help="Bound on the time of one run of code, as in 5m; its processor time moves with it.",
    ),
    click.option(
        "--memory",
        "run_memory_bytes",
        metavar="SIZE",
        type=Size(),
        help="Bound on the memory of one run, as in 2G.",
    ),
    click.option(
        "--image",
        metavar="NAME",
        help="The image of its sandboxes, from the operator's list; on the backend docker.",
    ),
    click.option(
        "--max-steps",
        type=click.IntRange(1),
        metavar="N",
        help="The most model calls of one revision.",
    ),
    click.option("--max-cost-usd", metavar="DOLLARS", help="The most that it may spend on models."),
    click.option("--max-tokens", type=int, metavar="N", help="The most tokens that it may use."),
)
"""The options that a retry has, too."""

SOURCES: tuple[Option, ...] = (
    click.option(
        "--file",
        "files",
        metavar="PATH",
        multiple=True,
        type=click.Path(exists=True, path_type=Path),
        help="A file of any kind that the job starts with, or a directory of them; may be given "
        "again.",
    ),
    click.option(
        "--repo",
        metavar="DIR|URL",
        help="The git repository that the work starts from: a directory, whose commits are sent, "
        "or a URL: https://, ssh:// or git@HOST:PATH. The result is a patch, see `fettle apply`.",
    ),
    click.option("--ref", metavar="REF", help="A branch, a tag or a commit of it; else HEAD."),
    click.option(
        "--dirty",
        is_flag=True,
        help="Also send the uncommitted files of DIR: changed and new ones, without ignored ones.",
    ),
)
"""The options for the files and the repository that a job starts with."""

WORK: tuple[Option, ...] = (
    click.option(
        "--branch/--no-branch",
        default=None,
        help="Push the approved change to the URL as the branch fettle/JOB. A follow-up adds a "
        "commit to the branch of its conversation, also without this option.",
    ),
    click.option(
        "--pull-request",
        is_flag=True,
        help="Open a pull request from that branch, too (GitLab: a merge request).",
    ),
    click.option(
        "--conversation",
        "conversation_id",
        metavar="ID",
        help="The conversation that this job follows up. It has the repository of this "
        "conversation; --repo DIR sends the present state of a repository that was sent.",
    ),
    click.option(
        "--step",
        "steps",
        metavar="TEXT",
        type=parse_step,
        multiple=True,
        help="A step of your own plan. 'after 1,2: TEXT' names the earlier steps that it needs, "
        "'after none: TEXT' none, for --parallel.",
    ),
    click.option("--label", "labels", metavar="WORD", multiple=True, help="A label to find it by."),
    click.option("--priority", type=click.Choice(["high", "normal", "low"])),
    click.option(
        "--verify",
        metavar="COMMAND",
        help="The command that proves the work, as in 'pytest -q'; no shell runs it. Else the "
        "model declares one.",
    ),
    click.option(
        "--evidence",
        type=click.Choice(["run", "none"]),
        help="The evidence that the critic needs to approve: a run, or none (for documents).",
    ),
    click.option(
        "--repair/--no-repair",
        default=None,
        help="Without repair the work ends with the first code that was run.",
    ),
    click.option(
        "--max-revisions", type=int, metavar="N", help="Passes executor to critic, at most."
    ),
    click.option(
        "--on-exhausted",
        type=click.Choice(["accept", "fail"]),
        help="Without approval in the end: accept the best result, or fail (the default).",
    ),
    click.option(
        "--check",
        "checks",
        metavar="PATH",
        multiple=True,
        type=TEXT_FILE,
        help="A test file that the work has to pass; may be given again.",
    ),
    click.option(
        "--check-command",
        metavar="COMMAND",
        help="The command that runs them (default: pytest). pytest and unittest report each test; "
        "for other commands, except `python PATH`, the exit code decides.",
    ),
    click.option(
        "--cases",
        metavar="FILE.json",
        type=TEXT_FILE,
        help="Programs to start, each with its expected output and files: a list of {argv, stdin, "
        "stdout, ...}, see docs/checks.md.",
    ),
    click.option(
        "--write-tests",
        is_flag=True,
        default=None,
        help="Let a tester write acceptance tests first.",
    ),
    click.option(
        "--questions",
        is_flag=True,
        default=None,
        help="Let the planner ask up to three questions first.",
    ),
    click.option(
        "--questions-expire",
        "questions_expire_seconds",
        metavar="TIME",
        type=Duration(),
        help="How long questions wait, as in 2h; then the planner's own answers apply.",
    ),
    click.option(
        "--parallel",
        is_flag=True,
        default=None,
        help="Run independent steps of the plan in parallel.",
    ),
)
"""The other options: the work itself."""


def term_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of `fettle retry`."""
    return _with(command, TERMS)


def spec_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of `fettle run`: all of them."""
    return _with(command, (*TERMS, *SOURCES, *WORK))


def chat_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of `fettle chat`."""
    return _with(command, (*TERMS, *SOURCES))


def set_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that have a value. The service has a default for the others."""
    return {name: value for name, value in options.items() if value not in (None, (), {})}


def _with(command: Callable[..., Any], options: tuple[Option, ...]) -> Callable[..., Any]:
    for option in reversed(options):  # the last one applied is the first under --help
        command = option(command)
    return command
