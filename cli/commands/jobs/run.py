"""`fettle run`: submit a task, follow it, print the answer."""

from __future__ import annotations

import json
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
from cli.client.service import Service
from cli.commands.jobs.spec_options import given, spec_options
from cli.context import open_service
from cli.exit_codes import DETACHED, HELP
from cli.follow.follow import to_the_end
from cli.output import Screen, print_json
from cli.render.parts import Tone
from cli.repository.source import Source, source

OF_OTHERS = frozenset({"check_command", "cases", "ref", "dirty", "branch", "pull_request"})
"""Options that are part of the field `checks`, `repo` or `deliver`; every other has the name of its
field."""


@click.command(epilog=HELP)
@click.argument("task")
@spec_options
@click.option(
    "--record",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Record the model's replies, to be played as recording:NAME.",
)
@click.option("--no-wait", is_flag=True, help="Print the job's id and leave.")
@click.option("--json", "as_json", is_flag=True, help="Print the final job as one JSON object.")
@click.pass_obj
def run_command(
    flags: Mapping[str, Any],
    /,
    *,
    record: Path | None,
    no_wait: bool,
    as_json: bool,
    **asked: Any,
) -> int:
    """Submit TASK (`-` reads it from stdin), show its progress, print its answer.

    On a terminal you are asked at a review; elsewhere the command says how to decide, and waits.
    """
    repository = source(asked["repo"], asked["ref"], dirty=asked["dirty"])
    spec = _spec({**asked, "repo": repository.repo})
    files = collect(asked["files"])
    if record:
        spec["record"] = _can_be_written(record, no_wait=no_wait)
    with open_service(flags) as service:
        files.require_fit(service, len(repository.bundle or b""))
        _say_left_out(files, repository)
        job = service.submit(spec, files.read(), bundle=repository.bundle)
        if no_wait:
            if as_json:
                print_json(job)
            else:
                click.echo(job["id"])
                _say_where_to_look(service, job["id"])
            return 0
        screen = Screen(stderr=as_json)
        screen.line("job", job["id"])
        screen.line("page", f"{service.url}/app/jobs/{job['id']}", Tone.QUIET)
        code = to_the_end(service, job["id"], as_json=as_json)
        if record and code != DETACHED:
            save_recording(service, job["id"], record)
            screen.line("recorded", str(record))
        return code


def _say_where_to_look(service: Service, job_id: str) -> None:
    """Tell a person, and no program that reads the id."""
    screen = Screen(stderr=True)
    if screen.drawing:
        page = f"{service.url}/app/jobs/{job_id}"
        screen.line("look", f"{page}; `fettle watch {job_id}` follows it", Tone.QUIET)


def _say_left_out(files: InputFiles, repository: Source) -> None:
    for why, count in files.left_out.items():
        click.echo(f"left out of the directories: {count} ({why})", err=True)
    if repository.left_out:
        what = plural(repository.left_out, "file")
        click.echo(f"left out: {what} with changes not committed; --dirty sends them", err=True)
    for path in repository.nested:
        why = "a repository of its own that git does not track: --file sends its files"
        click.echo(f"left out: {visible_path(path)} ({why})", err=True)
    for path in repository.submodules:
        why = "a submodule: jobs have none of its files"
        click.echo(f"left out: the changes in {visible_path(path)} ({why})", err=True)


def _spec(asked: Mapping[str, Any]) -> dict[str, Any]:
    task = sys.stdin.read() if asked["task"] == "-" else asked["task"]
    spec = {**asked, "task": task, "files": None}
    spec |= {"checks": _checks(asked), "deliver": _deliver(asked)}
    return given({name: value for name, value in spec.items() if name not in OF_OTHERS})


def _deliver(asked: Mapping[str, Any]) -> dict[str, bool] | None:
    if not (asked["branch"] or asked["pull_request"]):
        return None
    if "url" not in (asked["repo"] or {}):
        option = "--pull-request" if asked["pull_request"] else "--branch"
        raise click.UsageError(f"{option} goes with --repo URL: a worker pushes to that address")
    return {"branch": True, "pull_request": asked["pull_request"]}


def _can_be_written(path: Path, *, no_wait: bool) -> bool:
    """Fail before the job costs anything."""
    if no_wait:
        raise click.UsageError("--record waits for the job's end: it goes without --no-wait")
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}", param_hint="--record")
    return True


def _checks(asked: Mapping[str, Any]) -> dict[str, Any] | None:
    if asked["check_command"] and not asked["checks"]:
        raise click.UsageError("--check-command wants the files that it is about: --check PATH")
    files = dict(_file(path, "--check") for path in asked["checks"])
    checks = {"files": files, "command": asked["check_command"], "cases": _cases(asked["cases"])}
    return {name: value for name, value in checks.items() if value} or None


def _cases(path: Path | None) -> list[Any]:
    if path is None:
        return []
    try:
        cases = json.loads(_file(path, "--cases")[1])
    except ValueError as error:
        raise click.BadParameter(f"{path} is no JSON: {error}", param_hint="--cases") from None
    if not isinstance(cases, list) or not cases:
        raise click.BadParameter(f"{path} has no list of cases", param_hint="--cases")
    patterns = [case.get("stdout_matches") for case in cases if isinstance(case, dict)]
    for pattern in patterns:
        try:
            re.compile(pattern if isinstance(pattern, str) else "")
        except (re.error, OverflowError) as error:
            why = f"{pattern!r} is no regular expression: {error}"
            raise click.BadParameter(why, param_hint="--cases") from None
    return cases


def _file(path: Path, option: str) -> tuple[str, str]:
    """A file's name in the workspace and its text; one from elsewhere goes by its last name."""
    inside = not path.is_absolute() and ".." not in path.parts
    name = PurePath(path).as_posix() if inside else path.name
    try:
        return name, path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise click.BadParameter(f"{path} is not a UTF-8 text", param_hint=option) from None
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror}", param_hint=option) from None
