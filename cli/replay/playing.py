"""Playing a job again in a temporary deployment: no provider is called, nothing stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cli.client.service import Job, Service
from cli.local.throwaway import throwaway
from cli.output import Screen
from cli.replay.original import Original
from settings.base import DEVELOPMENT_KEY

DEVELOPMENT = "development"
OPERATOR = "operator"
"""How decisions are signed that the configured key gives: the one that everybody knows, another."""


def play(original: Original, screen: Screen) -> Job:
    """The job as it ends this time. Raises CliError where no deployment can be started."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="fettle-replay-")))
        (folder / f"{original.job['id']}.yaml").write_bytes(original.recording)
        key = DEVELOPMENT_KEY if DEVELOPMENT in original.names else None
        env = {"FETTLE_RECORDINGS_DIR": str(folder)}
        service = stack.enter_context(throwaway(screen, env=env, key=key))
        people = stack.enter_context(_people(service, original.names))
        with screen.waiting("playing the job again"):
            return _to_the_end(service, original, people)


def _to_the_end(service: Service, original: Original, people: Mapping[str, Service]) -> Job:
    """Decides at each review as was decided then; one that nobody had to decide ends the job."""
    decisions = iter(original.decisions)
    sent = service.submit(original.spec, original.files, bundle=original.bundle)
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
def _people(service: Service, names: frozenset[str]) -> Iterator[Mapping[str, Service]]:
    """A key for each person whose name is in prompts, which must be the same."""
    with ExitStack() as stack:
        people = {}
        for name in sorted(names - {DEVELOPMENT, OPERATOR}):
            made = service.create_key({"name": name, "scopes": ["review", "read"]})
            people[name] = stack.enter_context(Service(service.url, made["secret"]))
        yield people
