"""Small pure functions: choices, durations, the doctor's findings, settings, signals."""

from __future__ import annotations

import io
import signal

import click
import pytest
from rich.console import Console
from rich.text import Text

from cli.commands.local.up import ServiceAddresses, banner
from cli.doctor import deployment
from cli.doctor.deployment import Rating
from cli.errors import from_client
from cli.follow.review_prompt import matching
from cli.output import Screen
from cli.parameters import Duration
from cli.render.review import choices, how_to_decide
from cli.signals import Signals, StoppedBySignal
from fettle.errors import ApiError
from settings.client import child_environment, isolated_environment, model_keys


@pytest.mark.parametrize(
    ("typed", "choice"),
    [("approve", "approve"), ("A", "approve"), ("rev", "revise"), ("rej", "reject"),
     ("re", None), ("", None), ("x", None), ("d", "delegate")],
)  # fmt: skip
def test_a_decision_may_be_typed_by_its_first_letters(typed, choice):
    assert matching(typed) == choice


SYSTEM = {
    "version": "0.1.0",
    "environment": "development",
    "redis": {"server": "redis", "version": "7.0.15", "findings": [
        {"name": "appendonly", "value": "yes", "verdict": "ok", "advice": ""}]},
    "workers": [{"id": "w", "seen_seconds": 1.0, "slots": 32,
                 "sandbox": {"backend": "local", "works": True, "why": "", "layers": []},
                 "models": {"default": "groq:x", "keys": ["groq"], "recordings": []}}],
    "jobs": {"queued": 2, "failed": 0},
    "queue": {},
    "models": ["groq:*"],
}  # fmt: skip


def bad(system: dict) -> list[str]:
    return [f.name.strip() for f in deployment.findings(system) if f.health is Rating.BAD]


def test_a_healthy_deployment_has_no_bad_finding():
    assert bad(SYSTEM) == []
    texts = {finding.name: finding.text for finding in deployment.findings(SYSTEM)}
    assert texts["jobs"] == "2 queued"
    assert texts["models"] == "keys for groq; default groq:x"


def test_a_worker_of_another_release_is_named():
    worker = SYSTEM["workers"][0]
    same_release, other_release = (
        {**worker, "release": "0.1.0+a"},
        {**worker, "id": "v", "release": "0.1.0+b"},
    )
    system = {
        **SYSTEM,
        "release": "0.1.0+a",
        "workers": [same_release, other_release, {**same_release, "id": "u"}],
    }
    findings = [entry for entry in deployment.findings(system) if entry.name == "release"]
    assert [(entry.health, entry.text) for entry in findings] == [
        (Rating.NOTE, "0.1.0+a: w, u"),
        (Rating.WARN, "0.1.0+b: v; the service runs 0.1.0+a"),
    ]
    assert deployment.Finding("service", Rating.GOOD, "Fettle 0.1.0+a, development") in list(
        deployment.findings(system)
    )


def test_a_cause_that_stops_jobs_is_a_bad_finding():
    worker = SYSTEM["workers"][0]
    broken = {"backend": "local", "works": False, "why": "no bwrap", "layers": []}
    no_models = {"default": None, "keys": [], "recordings": []}
    stale = {**worker, "seen_seconds": 90.0}
    refused = [{"name": "appendonly", "value": "no", "verdict": "refuse", "advice": "set it"}]
    assert bad({**SYSTEM, "workers": []}) == ["workers"]
    assert bad({**SYSTEM, "workers": [stale]}) == ["workers"]
    assert bad({**SYSTEM, "workers": [{**worker, "sandbox": broken}]}) == ["sandbox"]
    assert bad({**SYSTEM, "workers": [{**worker, "storage": broken}]}) == ["storage"]
    assert bad({**SYSTEM, "workers": [{**worker, "models": no_models}]}) == ["models"]
    needs_key = {**worker, "default_model": {**broken, "backend": "groq:x", "why": "needs a key"}}
    assert bad({**SYSTEM, "workers": [needs_key]}) == ["default model"]
    assert bad({**SYSTEM, "workers": [needs_key, worker]}) == []
    assert bad({**SYSTEM, "workers": [{**worker, "storage": broken}]}) == ["storage"]
    assert bad({**SYSTEM, "redis": {**SYSTEM["redis"], "findings": refused}}) == ["appendonly"]


def test_a_worker_with_an_overruled_environment_is_named():
    worker = {**SYSTEM["workers"][0], "fleet": {"version": 3, "ignored": {"retention_days": 0.5}}}
    findings = list(deployment.findings({**SYSTEM, "workers": [worker]}))
    (warned,) = [entry for entry in findings if entry.name == "fleet"]
    assert warned.health is Rating.WARN
    assert "FETTLE_RETENTION_DAYS=0.5" in warned.text
    assert not [entry for entry in deployment.findings(SYSTEM) if entry.name == "fleet"]


def test_variables_that_workers_dropped_are_named_once():
    worker = {**SYSTEM["workers"][0], "dropped_variables": ["GROQ_LOG"]}
    second_worker = {**worker, "dropped_variables": ["CELERY_BROKER_URL", "GROQ_LOG"]}
    findings = deployment.findings(
        {**SYSTEM, "workers": [worker, second_worker, SYSTEM["workers"][0]]}
    )
    (finding,) = [entry for entry in findings if entry.name == "environment"]
    assert finding.health is Rating.WARN
    assert finding.text.startswith("CELERY_BROKER_URL, GROQ_LOG: variables of libraries")


def test_repositories_need_git_on_each_worker():
    works = {"git": "2.39.5", "works": True, "why": None, "hosts": ["git.example.org"]}
    fetched, to = "git 2.39.5; fetched from git.example.org", "git.example.org=gitlab"
    delivers = {**works, "delivers": [to]}
    works |= {"setups": ["pypi.org"], "lacks": ["ssh://git.example.org: no key"]}
    lacks = {"git": None, "works": False, "why": "git is not installed", "hosts": []}
    worker = SYSTEM["workers"][0]
    workers = [{**worker, "repositories": works}, {**worker, "id": "v", "repositories": lacks}]
    workers.append({**worker, "id": "w", "repositories": delivers})
    system = {**SYSTEM, "workers": [*workers, workers[0], worker]}
    findings = [entry for entry in deployment.findings(system) if entry.name == "repositories"]
    assert [(entry.health, entry.text) for entry in findings] == [
        (Rating.WARN, "jobs on repositories fail at v: git is not installed"),
        (Rating.WARN, "not fetched over ssh: ssh://git.example.org: no key"),
        (Rating.NOTE, f"{fetched}; dependencies: from pypi.org"),
        (
            Rating.NOTE,
            f"{fetched}; dependencies: not installed (FETTLE_SETUP_HOSTS); delivered to {to}",
        ),
    ]
    assert bad(system) == []


def test_a_throwaway_deployment_uses_only_the_settings_of_models_and_of_the_machine(monkeypatch):
    monkeypatch.setenv("FETTLE_REDIS_URL", "redis://production/0")
    monkeypatch.setenv("FETTLE_MODELS", '["groq:only"]')
    models = {"FETTLE_MODEL", "FETTLE_TESTER_MODEL", "FETTLE_CRITIC_ESCALATION"}
    for name in models:
        monkeypatch.setenv(name, "groq:mine")
    monkeypatch.setenv("FETTLE_GROQ_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GROQ_API_KEY", "k")
    monkeypatch.setenv("FETTLE_SANDBOX", "docker")
    monkeypatch.setenv("FETTLE_SANDBOX_IMAGE", "ours")
    monkeypatch.setenv("FETTLE_REPO_HOSTS", '["git.test"]')
    monkeypatch.setenv("FETTLE_REPO_DIR", "/of/production")
    env = isolated_environment({"FETTLE_PORT": "1"})
    ours = {name for name in env if name.startswith(("FETTLE_", "GROQ_"))}
    models |= {"FETTLE_GROQ_BASE_URL", "GROQ_API_KEY"}
    machine = {"FETTLE_SANDBOX", "FETTLE_SANDBOX_IMAGE", "FETTLE_REPO_HOSTS"}
    assert ours == {*models, *machine, "FETTLE_PORT", "FETTLE_CONFIG"}
    assert env["FETTLE_CONFIG"] == ""
    assert child_environment({})["FETTLE_REDIS_URL"] == "redis://production/0"
    assert "GROQ_API_KEY" in model_keys()


def test_a_signal_is_raised_once_and_then_counted():
    with Signals() as signals:
        with pytest.raises(StoppedBySignal) as stopped:
            signal.raise_signal(signal.SIGTERM)
        assert stopped.value.exit_code == 143
        signal.raise_signal(signal.SIGINT)
        assert signals.count == 2


def test_a_signal_waits_for_the_end_of_a_change():
    done = []

    def change(signals: Signals) -> None:
        with signals.delayed():
            signal.raise_signal(signal.SIGINT)
            done.append("whole")
        done.append("more")

    with Signals() as signals, pytest.raises(StoppedBySignal):
        change(signals)
    assert done == ["whole"]


REASON = "The job's checkpoint is in graph format 9."
CHOICES = {"approve": "begin anew", "delegate": "leave it", "reject": "end it"}
REVIEW = {
    "id": "upgrade-2",
    "kind": "upgrade",
    "opened_at": "",
    "payload": {"reason": REASON, "choices": CHOICES},
}


@pytest.mark.parametrize(
    ("review", "offered"),
    [
        ({"approvals_needed": 1}, True),
        ({"approvals_needed": 2}, False),
        ({"approvals_needed": 1, "actions": ["approve", "delegate"]}, True),
        ({"approvals_needed": 1, "actions": ["approve"]}, False),
    ],
)
def test_delegation_to_the_critic_is_offered_only_if_the_service_offers_it(review, offered):
    review = {"id": "v1", "kind": "review", "payload": {}, **review}
    assert ("delegate" in choices(review)) == offered
    assert ("|delegate" in how_to_decide("j1", review)) == offered


@pytest.mark.parametrize(("actions", "offered"), [(["approve", "withdraw"], True), ([], False)])
def test_a_withdrawal_is_offered_only_where_the_service_offers_it(actions, offered):
    review = {"id": "v1", "kind": "review", "payload": {}, "actions": actions}
    assert ("withdraw" in choices(review)) == offered


def next_step(status: int, kind: str = "x", path: str = "/jobs/j1") -> str:
    problem = {"status": status, "title": "no", "type": f"/problems/{kind}"}
    return from_client(ApiError(problem, path)).next_step


def test_a_refused_approval_against_the_evidence_names_the_option():
    assert "--override -m TEXT" in next_step(409, "override-needed")


def test_the_refusal_of_an_own_approval_does_not_mention_scopes():
    assert "scope" in next_step(403, "forbidden")
    for kind in ("own-approval", "review-rule"):
        advice = next_step(403, kind)
        assert "scope" not in advice
        assert "docs/review.md" in advice


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/jobs", "names the conversation of a job"),
        ("/jobs/j1/events", "`fettle list`"),
        ("/workers/w/drain", "`fettle doctor`"),
        ("/webhook-deliveries/w/retry", "`fettle webhooks list`"),
        ("/keys/k", "`fettle keys list`"),
    ],
)
def test_the_hint_after_a_name_that_is_not_found_fits_the_request(path, hint):
    assert hint in next_step(404, "not-found", path)


def test_a_conflicting_state_is_named_without_a_title():
    detail = "this job has already succeeded: it cannot be cancelled"
    title, kind = "The job is in another state", "/problems/wrong-state"
    problem = {"status": 409, "title": title, "detail": detail, "type": kind}
    assert str(from_client(ApiError(problem))) == detail


def test_only_possible_decisions_are_offered():
    assert choices(REVIEW) == CHOICES
    assert [matching(typed, choices(REVIEW)) for typed in ("a", "e", "d")] == [
        "approve", None, "delegate",
    ]  # fmt: skip
    command = "fettle review j1 approve|delegate|reject [-m TEXT]"
    assert how_to_decide("j1", REVIEW) == command
    assert how_to_decide("j1", {**REVIEW, "digest": "5b41"}) == f"{command} --digest 5b41"


@pytest.mark.parametrize(
    ("typed", "seconds"), [("90", 90), ("90s", 90), ("15m", 900), (" 2H ", 7_200), ("3 d", 259_200)]
)
def test_a_duration_is_a_number_and_a_unit(typed, seconds):
    assert Duration().convert(typed, None, None) == seconds


@pytest.mark.parametrize("typed", ["", "0", "0h", "-5m", "2w", "1.5h", "soon", "1h30m"])
def test_an_invalid_duration_is_reported(typed):
    with pytest.raises(click.BadParameter, match="2h"):
        Duration().convert(typed, None, None)


def test_a_narrow_terminal_gets_the_sign_in_link_without_a_line_break():
    output = io.StringIO()
    screen = Screen()
    screen.console = Console(file=output, force_terminal=True, width=40)
    path = f"/app/sign-in/{'x' * 80}"
    banner(screen, ServiceAddresses("http://127.0.0.1:9000", None, None, None, (), path))
    lines = Text.from_ansi(output.getvalue()).plain.splitlines()
    assert any(f"http://127.0.0.1:9000{path} (signs you in" in line for line in lines)
    assert any("fettle --url http://127.0.0.1:9000 run --model" in line for line in lines)
