"""Asking a person at a terminal to decide a review."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from api.line_comments import parse
from cli.client import Job
from cli.client.files import as_text, change_of, save
from cli.output import Screen
from cli.render.evidence import questions_parts
from cli.render.part_formats import INSET
from cli.render.review import (
    CHOICES,
    GO_ON,
    choices,
    override_question,
    review_parts,
    upgrade_parts,
)
from cli.render.texts import printable
from cli.signals import Signals
from fettle import Service
from fettle.errors import ApiError

PICTURE_ROWS = 28
LOOK_SECONDS = 0.2


class Later(Exception):
    """The person left the review undecided."""


def ask(service: Service, job: Job, screen: Screen) -> None:
    """Show the open review, and send the person's decision. The saved files are removed at the end
    of the review. Raises Later at end of input."""
    with Signals(), TemporaryDirectory(prefix="fettle-review-") as folder:
        show(service, job, screen, Path(folder))
        decide(service, job, screen)


def decide(service: Service, job: Job, screen: Screen) -> None:
    """Ask for a decision on the open review that the person has seen, and send it. Raises Later at
    end of input."""
    review = job["review"]
    while True:
        decision = {
            **_ask_decision(service, job, screen),
            "review_id": review["id"],
            "digest": review["digest"],
        }
        try:
            service.decide(job["id"], decision)
        except ApiError as refused:
            screen.line("refused", str(refused))
            if refused.status == 409:  # somebody else was quicker
                return
        else:
            return


def show(
    service: Service, job: Job, screen: Screen, folder: Path, *, draws_pictures: bool = True
) -> None:
    """Show the review, and save its files to `folder`."""
    payload = job["review"]["payload"]
    if job["review"]["kind"] == "questions":
        screen.title("questions before the job starts")
        screen.parts(questions_parts(payload["questions"]))
        return
    screen.title("review: it is your decision")
    if job["review"]["kind"] == "upgrade":
        screen.parts(upgrade_parts(payload))
        return
    screen.parts(review_parts(job, change_of(service, job)))
    names = {artifact["name"] for artifact in payload["artifacts"]}
    for path in save(service, job["id"], folder, names):
        if draws_pictures:
            draw(screen, path.read_bytes())
        screen.line("saved", printable(str(path)))


def draw(screen: Screen, data: bytes) -> None:
    """Draw the picture, if the bytes are a picture, a terminal can show it and Pillow is
    installed."""
    if not screen.drawing or screen.console.no_color or not find_spec("PIL"):
        return
    picture = import_module("cli.render.picture").picture  # Pillow is an extra: `plots`
    rows = min(screen.console.height - 8, PICTURE_ROWS)
    drawn = picture(data, min(screen.console.width - INSET, 100), max(rows, 8))
    if drawn is not None:
        screen.picture(drawn)


def needs_remark(job: Job) -> bool:
    """Whether a review rule requires a remark with each approval."""
    return bool((job["spec"].get("review_rules") or {}).get("remark"))


def last_program(service: Service, job: Job) -> str:
    """The complete last Python program that ran, which an edit replaces; empty if only commands
    ran."""
    programs = [run["code"] for run in job["runs"] if run.get("tool", "python") == "python"]
    if not programs:
        return ""
    code = programs[-1]
    return service.text(code["href"]) if code["digest"] else str(code["text"])


def edit_files(service: Service, job_id: str, edits: Iterable[str]) -> dict[str, str | None]:
    """The new text of each file of the work that a person edits, by path; None: the file is
    removed. `edits`: PATH opens the person's editor, PATH=LOCAL takes the text of the file LOCAL,
    and PATH= removes the file. Raises click.UsageError if there is no new text."""
    parts = (edit.partition("=") for edit in edits)
    return {
        path: _edited_text(service, job_id, path, local if is_local else None)
        for path, is_local, local in parts
    }


def _edited_text(service: Service, job_id: str, path: str, local: str | None) -> str | None:
    if local == "":
        return None
    if local is not None:
        try:
            content = Path(local).read_bytes()
        except OSError as error:
            raise click.UsageError(f"--file: {local} cannot be read: {error.strerror}") from None
    else:
        before = service.file(job_id, path)
        with TemporaryDirectory(prefix="fettle-edit-") as folder:
            copy = Path(folder) / Path(path).name
            copy.write_bytes(before)
            click.edit(filename=str(copy))  # of a text, it would change the line ends
            content = copy.read_bytes()
        if content == before:
            raise click.UsageError(f"the editor did not change {path}: not decided")
    if (text := as_text(content)) is None:
        raise click.UsageError(f"{local or path} is not UTF-8 text, so a review cannot change it")
    return text


def _ask_decision(service: Service, job: Job, screen: Screen) -> dict[str, Any]:
    review = job["review"]
    decision: dict[str, Any] = {}
    offered, doubt = choices(review), override_question(review)
    decision |= _decision(screen, offered, doubt, lambda: _ask_edit(service, job, screen))
    if decision["action"] == "approve" and "feedback" not in decision and needs_remark(job):
        decision["feedback"] = _answer("a remark on the approval: ")
    work = review["payload"]
    has_lines = work.get("patch") or (not job["spec"].get("repo") and work.get("artifacts"))
    if decision["action"] == "revise" and has_lines:
        decision["comments"] = list(_comments(screen))
    if decision["action"] == "answer":
        questions = review["payload"]["questions"]
        decision["answers"] = [
            _answer(f"answer {number}: ") for number in range(1, len(questions) + 1)
        ]
    return decision


def _decision(
    screen: Screen,
    offered: Mapping[str, str],
    doubt: str | None,
    ask_edit: Callable[[], dict[str, Any]],
) -> dict[str, Any]:
    """The person's choice. `doubt` is asked before an approval, which is then an override, with a
    remark. `ask_edit`: see `_ask_edit`."""
    screen.text()
    for name, meaning in offered.items():
        screen.text(f"  {name:<10}{meaning}")
    override: dict[str, Any] = {}
    while True:
        action = matching(_answer("decide: "), offered)
        if action == "edit":
            if edit := ask_edit():
                return {"action": action, **edit}
            screen.text("nothing is edited, so nothing is decided")
        elif action == "revise" and offered[action] == GO_ON:
            return {"action": action, "feedback": _answer("a note for the model (or Enter): ")}
        elif action in ("revise", "reject"):
            question = "what should change? " if action == "revise" else "why? "
            if feedback := _answer(question):
                return {"action": action, "feedback": feedback}
        elif action == "approve" and doubt and not (override := _ask_override(doubt)):
            screen.text("not approved")
        elif action:
            return {"action": action, **override}
        else:
            screen.text(f"please one of {', '.join(offered)}")


def _ask_edit(service: Service, job: Job, screen: Screen) -> dict[str, Any]:
    """The fields of an edit: files of the work, or a program that runs. Empty: nothing is
    edited."""
    files: dict[str, str | None] = {}
    question = "a file of the work to edit (or Enter to run your own program): "
    while written := _answer(question):
        try:
            files |= edit_files(service, job["id"], [written])
        except (click.ClickException, ApiError) as error:
            screen.text(printable(str(error)))
        question = "another file (or Enter): " if files else question
    if files:
        return {"files": files}
    code = click.edit(last_program(service, job), extension=".py")
    return {} if code is None else {"code": code}


def _ask_override(doubt: str) -> dict[str, Any]:
    """The fields of an override; empty if the person does not confirm it, or gives no remark."""
    remark = _answer("why? ") if confirmed(doubt, default=False) else ""
    return {"override": True, "feedback": remark} if remark else {}


def _comments(screen: Screen) -> Iterator[Mapping[str, Any]]:
    """Comments on lines, up to an empty one."""
    while written := _answer("a comment on a line, as src/a.py:12: TEXT (or Enter): "):
        if (comment := parse(written)) is not None:
            yield comment
        else:
            screen.text("please PATH:LINE: TEXT; PATH:-LINE: TEXT is a line before the change")


def matching(typed: str, offered: Iterable[str] = tuple(CHOICES)) -> str | None:
    """The only choice that begins with the typed letters; None if several or no choices do."""
    matches = [name for name in offered if typed and name.startswith(typed.lower())]
    return matches[0] if len(matches) == 1 else None


def confirmed(question: str, *, default: bool = True) -> bool:
    """A yes or no; plain Enter and end of input are the default."""
    try:
        answer = ask_line(f"{question} {'[Y/n]' if default else '[y/N]'} ").lower()
    except EOFError:
        return default
    return not answer.startswith("n") if default else answer.startswith("y")


def _answer(question: str) -> str:
    try:
        return ask_line(question)
    except EOFError:
        raise Later from None


def ask_line(question: str) -> str:
    """The line that the person types after the question, without surrounding spaces. Raises
    EOFError at its end.

    Python's own `input` sleeps through a signal that comes just before it begins to wait.
    """
    sys.stdout.write(question)
    sys.stdout.flush()
    while not select.select([sys.stdin], [], [], LOOK_SECONDS)[0]:
        continue
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()
