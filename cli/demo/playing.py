"""Playing one job of the demo: submit, follow, review, tell what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

from cli.asking import confirmed, draw
from cli.demo.jobs import DemoJob
from cli.downloads import save
from cli.live import LiveView
from cli.progress import Detail
from cli.render.job import answer_parts, outcome_parts
from cli.render.parts import Part, Prose, Tone
from cli.screen import Screen
from cli.service import Job, Service

DETAIL = Detail(code_lines=60, output_lines=24)
FOLDER = Path(".fettle") / "demo"


def play(
    service: Service, screen: Screen, job: DemoJob, conversation: str | None, *, recorded: bool
) -> Job:
    """Play a job to its end; returns it as it then is."""
    screen.part(Prose(job.task))
    submitted = service.submit(job.spec(conversation, recorded=recorded))
    with LiveView(screen, DETAIL) as view:
        for event in service.events(submitted["id"]):
            view.show(event)
            if event.kind == "review_opened":
                view.pause()
                _review(service, screen, submitted["id"])
                view.resume()
    done = service.job(submitted["id"])
    screen.parts(outcome_parts(done))
    return done


def _review(service: Service, screen: Screen, job_id: str) -> None:
    """Show what is asked beyond what has scrolled by, and approve it if nobody objects."""
    job = service.job(job_id)
    screen.parts(_answer(job))
    for path in save(service, job_id, job["review"]["payload"]["artifacts"], folder()):
        draw(screen, path.read_bytes())
        screen.line("saved", str(path))
    if not screen.asking:
        screen.line("review", "no terminal to ask at: the demo approves by itself", Tone.ASK)
    elif not confirmed("Approve this?"):
        service.decide(job_id, {"action": "reject", "feedback": "the person at the demo said no"})
        return
    service.decide(job_id, {"action": "approve"})


def _answer(job: Job) -> Iterator[Part]:
    yield from answer_parts({"result": {"answer": job["review"]["payload"]["answer"]}})


def folder() -> Path:
    """Where the demo's files stay: below the working directory, or where that is read-only a
    temporary one."""
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(mkdtemp(prefix="fettle-demo-files-"))
    return FOLDER.resolve()
