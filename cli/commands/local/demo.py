"""`fettle demo`: the command that `make demo` runs."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from api.quantities import duration, spent
from cli.client import Job
from cli.demo.jobs import JOBS
from cli.demo.playing import Play, files_folder
from cli.exit_codes import FAILED
from cli.local.throwaway import throwaway
from cli.output import Screen
from cli.render.parts import Tone
from settings.client import model_keys

RECORDED = (
    "no GROQ_API_KEY or GOOGLE_API_KEY: recordings play the models; "
    "the code runs in the sandbox in any case"
)

MUTATIONS = "4"
"""Each is one more run of a verification, and the demo is to be short."""
HOPELESS = {
    "model_unavailable": "the other jobs would fail the same way; correct the key or unset it: "
    "without one, recordings are played",
    "sandbox_unavailable": "the other jobs would fail the same way; `fettle doctor` says what is "
    "missing",
}
"""The reasons of failures that all other jobs of the demo would have, too, with the remedies."""


@click.command()
def demo_command() -> int:
    """Run five jobs through a throw-away deployment, by its HTTP API, and show them.

    It has its own Redis, API and worker on free ports, in a temporary directory. Without a model
    key recordings play the models; the code runs in the sandbox in any case.
    """
    started_at = time.monotonic()
    screen = Screen()
    screen.title("Fettle: a coding task in, code that has been run out")
    keys = model_keys()
    screen.line("models", f"{keys[0]} is set: that provider is asked" if keys else RECORDED)
    jobs: list[Job] = []
    files = files_folder()
    with throwaway(screen, env={"FETTLE_MUTATIONS": MUTATIONS}) as service:
        play = Play(service, screen, files, recorded=not keys)
        for number, job in enumerate(JOBS, 1):
            screen.title(f"{number} of {len(JOBS)}: {job.title}")
            conversation = jobs[-1]["conversation_id"] if jobs else None
            jobs.append(play.job(job, conversation))
            if jobs[-1]["reason"] in HOPELESS:
                screen.line("stopping", HOPELESS[jobs[-1]["reason"]], Tone.BAD)
                break
        succeeded = all(map(_is_as_planned, jobs))
        screen.title("in fine fettle" if succeeded else "not every job did well")
        _sum_up(screen, jobs)
    took = duration(time.monotonic() - started_at)
    screen.line("stopped", f"Redis, API and worker have ended, after {took}", Tone.GOOD)
    if not succeeded:
        return FAILED
    screen.line("next", "`make up` runs it all for daily use")
    return 0


def _is_as_planned(job: Job) -> bool:
    """Whether the job ended as planned. A rejection by a person is not a failure of the demo."""
    return bool(job["status"] == "succeeded" or job["reason"] == "rejected")


def _sum_up(screen: Screen, jobs: Sequence[Job]) -> None:
    heads = ("TASK", "STATUS", "APPROVED BY", "RUNS", "COST", "TIME")
    screen.rows(heads, (_row(demo.title, job) for demo, job in zip(JOBS, jobs, strict=False)))


def _row(title: str, job: Job) -> tuple[str, ...]:
    approved = job["result"]["approved_by"] if job["result"] else None
    runs = " ".join("✓" if run["succeeded"] else "✗" for run in job["runs"])
    cost = spent(job["cost"]["total"])
    return title, job["status"], approved or "-", runs, cost, duration(job["ran_seconds"])
