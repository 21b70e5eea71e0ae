"""Follows a job to its end, as `run` and `watch` do: live, with a prompt at each review."""

from __future__ import annotations

from cli.client import Job
from cli.client.files import text_of
from cli.exit_codes import DETACHED, exit_code_of
from cli.follow.live_view import LiveView
from cli.follow.review_prompt import Later, ask
from cli.output import Screen, print_json
from cli.render.evidence import Detail, questions_parts
from cli.render.job import answer_parts, look_line, next_parts, outcome_parts, patch_parts
from cli.render.review import how_to_decide
from fettle import Service


def follow(service: Service, job_id: str, screen: Screen, *, asking: bool) -> Job:
    """Show all events of a job; returns the job at its end."""
    with LiveView(screen, Detail(), text_of(service, job_id)) as view:
        for event in service.events(job_id, hear=view.hear if screen.drawing else None):
            view.show(event)
            if event.kind == "review_opened":
                _at_review(service, job_id, str(event.data["review_id"]), view, screen, asking)
    return service.job(job_id)


def follow_to_end(service: Service, job_id: str, *, as_json: bool) -> int:
    """Follow a job, and print its result. Returns the exit code."""
    screen = Screen(stderr=as_json)
    try:
        job = follow(service, job_id, screen, asking=screen.asking and not as_json)
    except (KeyboardInterrupt, Later):
        screen.text()
        screen.line("detached", f"the job goes on; `fettle watch {job_id}` shows it again,")
        screen.line("", f"`fettle cancel {job_id}` ends it")
        return DETACHED
    if as_json:
        print_json(job)
    else:
        screen.parts(outcome_parts(job))
        screen.parts(next_parts(job, service.url))
    return exit_code_of(job)


def follow_new_job(service: Service, job: Job, *, no_wait: bool, as_json: bool) -> int:
    """Follow a new job to its end; with `no_wait`, name it and leave."""
    if not no_wait:
        return follow_to_end(service, job["id"], as_json=as_json)
    if as_json:
        print_json(job)
    else:
        Screen().line("submitted", job["id"])
    return 0


def _at_review(
    service: Service, job_id: str, review_id: str, view: LiveView, screen: Screen, asking: bool
) -> None:
    job = service.job(job_id)
    if not job["review"] or job["review"]["id"] != review_id:  # decided since
        return
    if not asking:
        if job["review"]["kind"] == "questions":
            screen.parts(questions_parts(job["review"]["payload"]["questions"]))
        else:
            screen.parts(answer_parts(job["review"]["payload"].get("answer", "")))
        screen.parts(patch_parts(job))
        screen.part(look_line(job, service.url))
        screen.copyable("decide", how_to_decide(job_id, job["review"]))
        return
    view.pause()
    ask(service, job, screen)
    view.resume()
