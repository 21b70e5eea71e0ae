"""`fettle review`: decide a job's open review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from api.line_comments import parse
from cli.context import open_service
from cli.follow.review_prompt import edit_files, last_program
from cli.output import Screen, print_json
from cli.render.review import CHOICES
from fettle import Service


@click.command()
@click.argument("job_id", metavar="ID")
@click.argument("action", type=click.Choice((*CHOICES, "answer")))
@click.option(
    "-m",
    "--message",
    "--feedback",
    "feedback",
    metavar="TEXT",
    help="What to change, why not, or why in spite of the evidence.",
)
@click.option(
    "--override",
    is_flag=True,
    help="For approve: although the evidence failed or is missing; needs -m TEXT.",
)
@click.option(
    "--code",
    "code_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="For edit: the code to run instead of opening $EDITOR.",
)
@click.option(
    "--file",
    "files",
    metavar="PATH[=LOCAL]",
    multiple=True,
    help="For edit: change the file PATH of the work in $EDITOR, or replace it by the file LOCAL; "
    "PATH= removes it.",
)
@click.option(
    "--answer",
    "answers",
    metavar="TEXT",
    multiple=True,
    help="For answer: one for each question, in their order; an empty one is the default.",
)
@click.option(
    "--comment",
    "comments",
    metavar="PATH:LINE:TEXT",
    multiple=True,
    help="For revise and edit: on a line of the patch; PATH:-LINE:TEXT is a line before the "
    "change. An edit applies the ```suggestion of a comment.",
)
@click.option("--review-id", metavar="ID", help="The review to decide; refused if another is open.")
@click.option(
    "--digest", metavar="SHA256", help="The digest of what you saw, as the review shows it."
)
@click.option("--json", "as_json", is_flag=True, help="Print the job's id and status as JSON.")
@click.pass_obj
def review_command(
    flags: Mapping[str, Any],
    *,
    job_id: str,
    action: str,
    feedback: str | None,
    override: bool,
    code_file: Path | None,
    files: tuple[str, ...],
    answers: tuple[str, ...],
    comments: tuple[str, ...],
    review_id: str | None,
    digest: str | None,
    as_json: bool,
) -> None:
    """Decide the open review of the job ID.

    approve accepts the work, and needs --override if its evidence failed or is missing; revise
    sends it back with TEXT and comments on lines, or continues a job that pauses at every run; edit
    changes files, applies suggestions, or else runs your own code; reject ends the job; delegate
    lets the critic decide this time, unless two people have to approve; withdraw takes back your
    approval while another person's approval is missing.

    If the job asks questions, answer answers them, and reject ends the job.

    If no worker can resume the job after an upgrade, approve restarts it from its task, delegate
    leaves it to a worker that can resume it (start such a worker first), and reject ends it.
    """
    if action == "reject" and not feedback:
        raise click.UsageError("reject needs a message: -m TEXT")
    if override and action != "approve":
        raise click.UsageError("--override goes with approve")
    if override and not (feedback or "").strip():
        raise click.UsageError("--override needs a remark on why: -m TEXT")
    if (code_file or files) and action != "edit":
        raise click.UsageError("--code and --file go with edit")
    if answers and action != "answer":
        raise click.UsageError("--answer goes with answer")
    if comments and action not in ("revise", "edit"):
        raise click.UsageError("--comment goes with revise and edit")
    with open_service(flags) as service:
        decision: dict[str, Any] = {
            "action": action,
            "feedback": feedback,
            "override": override or None,
            "review_id": review_id,
            "digest": digest,
            "answers": list(answers) or None,
            "comments": [_comment(comment) for comment in comments] or None,
        }
        if action == "edit":
            decision |= _edit(service, job_id, decision, files, code_file)
        fields = {name: value for name, value in decision.items() if value is not None}
        job = service.decide(job_id, fields)
    if as_json:
        print_json(job)
    else:
        Screen().line("decided", f"{action}; {_state_after(action, job)}")


def _edit(
    service: Service,
    job_id: str,
    decision: Mapping[str, Any],
    files: Sequence[str],
    code_file: Path | None,
) -> dict[str, Any]:
    """The further fields of an edit. If an editor opens, the edit names the review that is open
    before, so that it changes no later work."""
    fields: dict[str, Any] = {}
    runs_program = code_file is not None or not (files or decision["comments"])
    opens_editor = (runs_program and code_file is None) or any("=" not in file for file in files)
    if opens_editor and decision["review_id"] is None:
        review = service.job(job_id)["review"]
        fields["review_id"] = review and review["id"]
    if files:
        fields["files"] = edit_files(service, job_id, files)
    if runs_program:
        fields["code"] = _code(service, job_id, code_file)
    return fields


def _comment(text: str) -> Mapping[str, Any]:
    comment = parse(text)
    if comment is None:
        raise click.UsageError(f"--comment {text!r} is not PATH:LINE:TEXT, as in a.py:12:too slow")
    return comment


def _state_after(action: str, job: Mapping[str, Any]) -> str:
    """The state of the job after the decision."""
    if action == "withdraw":
        return "the review is still open"
    if job["status"] == "awaiting_review":  # the first approval of two
        return "1 of 2 approvals; another person has to approve, too"
    return f"the job is {job['status'].replace('_', ' ')}"


def _code(service: Service, job_id: str, code_file: Path | None) -> str:
    if code_file is not None:
        return code_file.read_text(encoding="utf-8")
    edited = click.edit(last_program(service, service.job(job_id)), extension=".py")
    if edited is None:
        raise click.UsageError("the editor saved nothing: not decided")
    return edited
