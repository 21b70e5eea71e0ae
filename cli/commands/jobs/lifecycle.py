"""`fettle message`, `claim`, `cancel`, `delete`, `retry`, `rebase`: commands about a job."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

from cli.commands.jobs.spec_options import set_fields, term_options
from cli.context import open_service
from cli.exit_codes import HELP
from cli.follow.follow import follow_new_job
from cli.output import Screen, print_json


def follow_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that makes a job and follows it."""
    no_wait = click.option("--no-wait", is_flag=True, help="Print the new job's id and leave.")
    text = "Print the new job as one JSON object; with --no-wait its id and status."
    return no_wait(click.option("--json", "as_json", is_flag=True, help=text)(command))


@click.command()
@click.argument("job_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print the job's id and status as JSON.")
@click.pass_obj
def cancel_command(flags: Mapping[str, Any], job_id: str, *, as_json: bool) -> None:
    """Cancel the job ID: no new model call and no new run starts."""
    with open_service(flags) as service:
        job = service.cancel(job_id)
    if as_json:
        print_json(job)
    else:
        Screen().line("cancelled", job_id)


@click.command(epilog=HELP)
@click.argument("job_id", metavar="ID")
@click.argument("text", metavar="TEXT")
@click.option("--json", "as_json", is_flag=True, help="Print the job's id and status as JSON.")
@click.pass_obj
def message_command(flags: Mapping[str, Any], job_id: str, text: str, *, as_json: bool) -> None:
    """Send the job ID a message: TEXT, or stdin if it is -.

    The message becomes a part of the task, and you become an author of the work. The models of the
    job read it before their next calls, or, if the job waits for a review, in its next pass.
    """
    content = sys.stdin.read() if text == "-" else text
    if not content.strip():
        raise click.UsageError("the message has no text")
    with open_service(flags) as service:
        job = service.message(job_id, content)
    if as_json:
        print_json(job)
        return
    is_paused = job["status"] == "awaiting_review"
    reader = "in the next pass, after the review" if is_paused else "before their next calls"
    Screen().line("sent", f"the models of {job_id} read it {reader}")


@click.command()
@click.argument("job_id", metavar="ID")
@click.option("--assign", "assignee", metavar="PERSON", default="me", help="Assign it to PERSON.")
@click.option("--release", "assignee", flag_value="", help="No person looks after it any more.")
@click.option("--json", "as_json", is_flag=True, help="Print the job's id and status as JSON.")
@click.pass_obj
def claim_command(flags: Mapping[str, Any], job_id: str, *, assignee: str, as_json: bool) -> None:
    """Claim the open review of the job ID: others see your name in their inbox.

    It is no lock: any reviewer may decide.
    """
    with open_service(flags) as service:
        job = service.claim(job_id, assignee)
    if as_json:
        print_json(job)
    else:
        Screen().line("claimed" if assignee else "released", job_id)


@click.command()
@click.argument("job_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print {deleted: [ids]} as one JSON object.")
@click.pass_obj
def delete_command(flags: Mapping[str, Any], job_ids: tuple[str, ...], *, as_json: bool) -> None:
    """Delete the jobs ID, which have ended, with all their data. Needs an admin key.

    The record of decisions on them is deleted, too; their files after FETTLE_BLOB_GRACE_SECONDS.
    """
    screen = Screen(stderr=as_json)
    with open_service(flags) as service:
        for job_id in job_ids:
            service.delete(job_id)
            screen.line("deleted", job_id)
    if as_json:
        print_json({"deleted": list(job_ids)})


@click.command(epilog=HELP)
@click.argument("job_id", metavar="ID")
@term_options
@follow_options
@click.pass_obj
def retry_command(
    flags: Mapping[str, Any],
    /,
    job_id: str,
    *,
    no_wait: bool,
    as_json: bool,
    **terms: Any,
) -> int:
    """Retry the failed or cancelled job ID as a new job that continues its work.

    Model calls that were paid for are not paid again; the retry of an unapproved job gets new
    revisions. An option changes a term of the job for the retry, as in --max-cost-usd 2 or
    --timeout 1h. The command follows the new job as `fettle run` does.
    """
    with open_service(flags) as service:
        job = service.retry(job_id, set_fields(terms))
        return follow_new_job(service, job, no_wait=no_wait, as_json=as_json)


@click.command(epilog=HELP)
@click.argument("job_id", metavar="ID")
@click.option(
    "--at",
    "revision",
    type=click.IntRange(1),
    metavar="REVISION",
    help="Start from the files that this revision left, else from the original's start.",
)
@click.option("--prompt", metavar="TEXT", help="The task, in place of the original's.")
@term_options
@follow_options
@click.pass_obj
def fork_command(
    flags: Mapping[str, Any], /, job_id: str, *, no_wait: bool, as_json: bool, **changes: Any
) -> int:
    """Run the job ID again as a new job, with the changes that the options name.

    The original may be in any state. `fettle compare` compares both results. The command follows
    the new job as `fettle run` does.
    """
    with open_service(flags) as service:
        job = service.fork(job_id, set_fields(changes))
        return follow_new_job(service, job, no_wait=no_wait, as_json=as_json)


@click.command(epilog=HELP)
@click.argument("job_id", metavar="ID")
@follow_options
@click.pass_obj
def rebase_command(flags: Mapping[str, Any], job_id: str, *, no_wait: bool, as_json: bool) -> int:
    """Merge the approved change of the ended job ID onto the commit that its branch is at now.

    This creates a new job on the same terms. It begins with the merged files, resolves conflicts,
    runs the tests, and needs its own approval before it is delivered. The command follows it as
    `fettle run` does.
    """
    with open_service(flags) as service:
        return follow_new_job(service, service.rebase(job_id), no_wait=no_wait, as_json=as_json)
