"""Plays a job again in a temporary deployment. No provider is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cli.client import Job
from cli.local.throwaway import throwaway
from cli.output import Screen
from cli.replay.original import Original
from fettle import Service
from settings.base import DEVELOPMENT_KEY

DEVELOPMENT = "development"
OPERATOR = "operator"
"""The names in decisions of the configured key: the development key's, and any other key's."""


def play_again(original: Original, screen: Screen) -> Job:
    """Play the job again; returns the ended replay. Raises CliError if no deployment can be
    started."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="fettle-replay-")))
        (folder / f"{original.job['id']}.yaml").write_bytes(original.recording)
        key = DEVELOPMENT_KEY if DEVELOPMENT in original.names_in_prompts else None
        env = {"FETTLE_RECORDINGS_DIR": str(folder)}
        service = stack.enter_context(throwaway(screen, env=env, key=key))
        people = stack.enter_context(_people_services(service, original.names_in_prompts))
        with screen.waiting("playing the job again"):
            return _play_to_end(service, original, people)


def _play_to_end(service: Service, original: Original, people: Mapping[str, Service]) -> Job:
    """Decide each review as in the original job. A review without such a decision cancels the
    job."""
    decisions = iter(original.decisions)
    sent = service.submit(original.request, original.files, bundle=original.bundle)
    job_id = sent["id"]
    for event in service.events(job_id):
        if event.kind != "review_opened":
            continue
        by, decision = next(decisions, ("", None))
        if decision is None:
            service.cancel(job_id)
        else:
            people.get(by, service).decide(job_id, decision)
    return service.job(job_id)


@contextmanager
def _people_services(service: Service, names: frozenset[str]) -> Iterator[Mapping[str, Service]]:
    """A service for each person with a name in prompts: a key with the same name, so that the
    prompts are the same."""
    with ExitStack() as stack:
        people = {}
        for name in sorted(names - {DEVELOPMENT, OPERATOR}):
            key = service.create_key({"name": name, "scopes": ["review", "read"]})
            people[name] = stack.enter_context(Service(service.url, key["secret"]))
        yield people
