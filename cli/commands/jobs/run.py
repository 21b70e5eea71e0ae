"""`fettle run`: submit a task, follow it, print the answer."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import click

from api.http.foreign_text import visible_path
from api.quantities import plural
from cli.client.files import save_recording
from cli.client.input_files import InputFiles, collect
from cli.commands.jobs.batch import read_batch, run_batch
from cli.commands.jobs.spec_options import set_fields, spec_options
from cli.context import open_service
from cli.exit_codes import DETACHED, HELP
from cli.follow.follow import follow_to_end
from cli.output import Screen, print_json
from cli.parameters import parse_json
from cli.render.parts import Tone
from cli.repository.source import RepositorySource, find_source
from fettle import Service

PARTS_OF_FIELDS = frozenset({"check_command", "cases", "ref", "dirty", "branch", "pull_request"})
"""Options that are part of the field `checks`, `repo` or `deliver`. Every other option has the name
of its field."""


@click.command(epilog=HELP)
@click.argument("task", required=False)
@spec_options
@click.option(
    "--batch",
    "batch_file",
    metavar="FILE.jsonl",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help='Submit a job for each line: a JSON object like {"task": ...}, with further fields of a '
    "request (docs/api.md). The other options are the defaults of all lines. `-` reads stdin.",
)
@click.option(
    "--key",
    metavar="WORD",
    help="The Idempotency-Key: a repeated command with the same key makes each job once.",
)
@click.option(
    "--record",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Record the model's replies, to be played as recording:NAME.",
)
@click.option("--no-wait", is_flag=True, help="Print the job's id and leave.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the final job as one JSON object; of a batch, a line for each job.",
)
@click.pass_obj
def run_command(
    flags: Mapping[str, Any],
    /,
    *,
    record: Path | None,
    batch_file: Path | None,
    key: str | None,
    no_wait: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Submit TASK (`-` reads it from stdin), show its progress, print its answer.

    On a terminal, the command asks you at a review. Otherwise it prints how to decide, and waits.
    """
    if (options["task"] is None) is (batch_file is None):
        raise click.UsageError("name either a TASK or a file of tasks: --batch FILE.jsonl")
    repository = find_source(
        options["repo"],
        options["ref"],
        dirty=options["dirty"],
        follows_up=options["conversation_id"] is not None,
    )
    spec = _spec({**options, "repo": repository.repo})
    files = collect(options["files"])
    if record:
        spec["record"] = _can_be_written(record, no_wait=no_wait)
    show_left_out(files, repository)
    if batch_file is not None:
        if record or repository.bundle:
            option = "--record" if record else "--repo DIR"
            raise click.UsageError(f"{option} is for one job: leave out --batch")
        defaults = {**spec, "files": files.read_texts()} if files.paths else spec
        batch = read_batch(batch_file, defaults)
        with open_service(flags) as service:
            return run_batch(service, batch, key, no_wait=no_wait, as_json=as_json)
    with open_service(flags) as service:
        files.require_fit(service, len(repository.bundle or b""))
        job = service.submit(spec, files.read(), bundle=repository.bundle, once=key)
        if no_wait:
            if as_json:
                print_json(job)
            else:
                click.echo(job["id"])
                _show_page_address(service, job["id"])
            return 0
        screen = Screen(stderr=as_json)
        screen.line("job", job["id"])
        screen.line("page", f"{service.url}/app/jobs/{job['id']}", Tone.QUIET)
        code = follow_to_end(service, job["id"], as_json=as_json)
        if record and code != DETACHED:
            save_recording(service, job["id"], record)
            screen.line("recorded", str(record))
        return code


def _show_page_address(service: Service, job_id: str) -> None:
    """Show the address of the job's page on a terminal. In a pipe, a program reads the id."""
    screen = Screen(stderr=True)
    if screen.drawing:
        page = f"{service.url}/app/jobs/{job_id}"
        screen.line("look", f"{page}; `fettle watch {job_id}` follows it", Tone.QUIET)


def show_left_out(files: InputFiles, repository: RepositorySource) -> None:
    """Show the files that are not sent, with the reasons."""
    for reason, count in files.left_out.items():
        click.echo(f"left out of the directories: {count} ({reason})", err=True)
    if repository.left_out:
        files_text = plural(repository.left_out, "file")
        click.echo(
            f"left out: {files_text} with changes not committed; --dirty sends them", err=True
        )
    for path in repository.nested:
        reason = "a nested repository that git does not track: --file sends its files"
        click.echo(f"left out: {visible_path(path)} ({reason})", err=True)
    for path in repository.submodules:
        reason = "a submodule: jobs have none of its files"
        click.echo(f"left out: the changes in {visible_path(path)} ({reason})", err=True)


def _spec(options: Mapping[str, Any]) -> dict[str, Any]:
    task = sys.stdin.read() if options["task"] == "-" else options["task"]
    spec = {**options, "task": task, "files": None}
    spec |= {"checks": _checks(options), "deliver": _deliver(options)}
    fields = set_fields(
        {name: value for name, value in spec.items() if name not in PARTS_OF_FIELDS}
    )
    if options["branch"] is False and options["conversation_id"]:
        fields["deliver"] = None  # do not deliver as the earlier job did
    return fields


def _deliver(options: Mapping[str, Any]) -> dict[str, bool] | None:
    if not (options["branch"] or options["pull_request"]):
        return None
    if options["branch"] is False:
        raise click.UsageError("a pull request is made of the branch: leave out --no-branch")
    if "url" not in (options["repo"] or {}) and not options["conversation_id"]:
        option = "--pull-request" if options["pull_request"] else "--branch"
        raise click.UsageError(f"{option} needs --repo URL: a worker pushes to that address")
    return {"branch": True, "pull_request": options["pull_request"]}


def _can_be_written(path: Path, *, no_wait: bool) -> bool:
    """Check the path of the recording before the job costs money."""
    if no_wait:
        raise click.UsageError("--record needs the end of the job: leave out --no-wait")
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}", param_hint="--record")
    return True


def _checks(options: Mapping[str, Any]) -> dict[str, Any] | None:
    if options["check_command"] and not options["checks"]:
        raise click.UsageError("--check-command needs the files that it checks: --check PATH")
    files = dict(_file(path, "--check") for path in options["checks"])
    checks = {
        "files": files,
        "command": options["check_command"],
        "cases": _cases(options["cases"]),
    }
    return {name: value for name, value in checks.items() if value} or None


def _cases(path: Path | None) -> list[Any]:
    if path is None:
        return []
    try:
        cases = parse_json(_file(path, "--cases")[1])
    except ValueError as error:
        raise click.BadParameter(
            f"{path} cannot be read as JSON: {error}", param_hint="--cases"
        ) from None
    if not isinstance(cases, list) or not cases:
        raise click.BadParameter(f"{path} has no list of cases", param_hint="--cases")
    patterns = [case.get("stdout_matches") for case in cases if isinstance(case, dict)]
    for pattern in patterns:
        try:
            re.compile(pattern if isinstance(pattern, str) else "")
        except (re.error, OverflowError) as error:
            reason = f"{pattern!r} is not a regular expression: {error}"
            raise click.BadParameter(reason, param_hint="--cases") from None
    return cases


def _file(path: Path, option: str) -> tuple[str, str]:
    """A file's name in the workspace, and its text. The name is the relative path; of a path
    outside of this directory, only its last part."""
    inside = not path.is_absolute() and ".." not in path.parts
    name = PurePath(path).as_posix() if inside else path.name
    try:
        return name, path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise click.BadParameter(f"{path} is not a UTF-8 text", param_hint=option) from None
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror}", param_hint=option) from None
