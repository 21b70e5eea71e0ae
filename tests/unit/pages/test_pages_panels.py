"""The panels of a job's page: the review with its decisions, and the outcome."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.jobs.job_examples import VERIFIED
from support.pages.api_front import a_run, text

from api.pages.format import job_view
from api.pages.format.job_view import JobStory
from api.pages.rendering import render_template
from api.pages.session import Session
from api.pages.visitor import Visitor
from jobs.model.credentials import EVERY_SCOPE, Credential, Signer
from jobs.model.events import Event
from jobs.model.people import KeyRing
from jobs.model.record import JobRecord, Reason, Result, Status
from jobs.model.review import Approval, Review, ReviewKind
from jobs.model.spec import Deliver, JobSpec

DIGEST = "ab" * 32


def visitor(name: str = "ada") -> Visitor:
    return Visitor(Credential(f"key-{name}", name, "t", EVERY_SCOPE), Session("k", "s", "n"), "t")


def a_record(runs=(), **changed):
    payload = {"answer": "42", "runs": list(runs), "artifacts": [], "revision": 1}
    review = Review("r1", ReviewKind.REVIEW, payload)
    spec = JobSpec("a task", approvals=changed.pop("approvals", 1))
    plain = JobRecord("0" * 20, "t", spec, "c", 0, 0, 0, submitted_by="grace", key_id="key-grace")
    return replace(plain, **{"status": Status.AWAITING_REVIEW, "review": review, **changed})


def panel(name, record, events=(), charges=(), by="ada", **more):
    same_person = KeyRing(()).same_person(visitor(by).credential)
    answered = JobStory(record, events, charges, 60_000, same_person=same_person, **more)
    return render_template(
        f"job_{name}.html", **job_view.page_values(answered, visitor(by), "http://h")
    )


def test_shortened_evidence_is_marked_and_links_to_the_full_text():
    run = a_run(
        3,
        code=text("head [... left out ...] tail", digest=DIGEST),
        stdout=text("o", dropped_bytes=2_048),
        stderr=text("e", digest=DIGEST),
        refused=["big.bin: too large"],
        tests={"counts": {}, "tests": [{"id": "t_one", "outcome": "failed", "detail": "no"}]},
    )
    html = panel("review", a_record([a_run(1), a_run(2), run]))
    run_path = f"/app/jobs/{'0' * 20}/runs/3"
    for part in ("code", "stderr"):
        assert f'href="{run_path}/{part}"' in html
        assert f'data-copy-whole="{run_path}/{part}"' in html
    assert f'href="{run_path}/stdout"' not in html
    for said in ("2.0 KiB were not stored", "big.bin: too large", "t_one"):
        assert said in html
    assert ("shown above" in html, "Code of run" in html) == (True, False)
    assert "also covers runs 1 and 2" in html
    assert "runs/1/shown" in html


@pytest.mark.parametrize(
    ("by", "voted", "changed", "reason"),
    [
        ("grace", (), {}, "submitted the job"),
        ("ada", (), {"authors": (Signer("Ada"),)}, "edited the code"),
        ("ada", ("ada",), {}, "has approved already"),
        ("ada", ("bob",), {}, ""),
        ("grace", (), {"approvals": 1}, ""),
    ],
)
def test_a_person_without_a_counting_approval_learns_it_before_the_click(
    by, voted, changed, reason
):
    votes = tuple(Approval(name, f"key-{name}", 1) for name in voted)
    record = a_record([a_run()], **{"approvals": 2, **changed})
    record = replace(record, review=replace(record.review, approvals=votes))
    html = panel("review", record, by=by)
    assert (reason in html, 'data-key="a"' in html, 'id="approve"' in html) == (
        True,
        not reason,
        not reason,
    )
    head = html.partition('class="evidence"')[0]
    assert ("You may send it back" in head) == bool(reason)
    assert 'data-key="r"' in html


@pytest.mark.parametrize(
    ("approvals", "delivers", "person_delivers", "offered"),
    [(1, False, False, True), (2, False, False, False), (1, True, True, False),
     (1, True, False, True), (1, False, True, True)],
)  # fmt: skip
def test_the_critic_is_offered_only_if_it_may_decide(approvals, delivers, person_delivers, offered):
    record = a_record([a_run()], approvals=approvals)
    deliver = Deliver(branch=True) if delivers else None
    record = replace(record, spec=replace(record.spec, deliver=deliver))
    html = panel("review", record, by="bob", person_delivers=person_delivers)
    assert ("Hand over to critic" in html) == offered


def test_the_reason_for_a_result_is_shown():
    approved = Result("42", "ada", override=True)
    record = a_record(status=Status.SUCCEEDED, review=None, result=approved)
    assert "although the evidence failed" in panel("outcome", record)
    record = replace(record, result=Result("42", None))
    answered = panel("outcome", record)
    assert ">Accepted without approval</strong>: this job allows it</p>" in answered
    assert ">unapproved<" in panel("status", record)
    ends = {"revision": 1, "verdict": "revise", "ends": "two revisions <b> in a row"}
    html = panel("outcome", record, [Event(1, 0, "critiqued", ends)])
    assert "this job allows it after 1 revision (two revisions &lt;b&gt; in a row)" in html


def test_the_best_result_of_a_failed_job_is_marked_as_such():
    result = Result("42", None, verification=VERIFIED)
    failed = {"status": Status.FAILED, "reason": Reason.UNAPPROVED, "detail": "not approved"}
    html = panel("outcome", a_record(review=None, result=result, **failed))
    assert "the best result so far, not approved" in html
    assert "<p>42</p>" in html
    assert "Not verified</span> <code>pytest -q</code>" in html
    assert "<code>b.py</code> made unloadable: " in html
    assert "the verification still passes" in html
    assert "1 passed" in html


def test_how_much_a_verification_distinguishes_is_shown():
    verification = {**VERIFIED, "holds": True, "problem": None}
    html = panel(
        "outcome", a_record(review=None, result=Result("42", "ada", verification=verification))
    )
    for part in (
        '<span class="warn">Verified only by itself</span> <code>pytest -q</code>',
        '<span class="quiet">, exit code only</span>',
        '<details class="said verification" open>',
        '<span class="warn">7 of 8 small changes noticed; 12 not tried for lack of time</span>',
        'Without the change: <span class="good">the verification fails, as it should</span>',
        '<code>c.py</code> made unloadable: <span class="warn">undecided</span>',
        "<li>a.py:12 <code>if n &lt;= 3:</code> instead of <code>if n &lt; 3:</code></li>",
        '<p class="quiet small">1 of 2 changed functions executed</p>',
        '<p class="warn small">The verification does not exercise b.py.</p>',
    ):
        assert part in html, part


def test_a_verification_by_the_checks_counts_them():
    tests = [{"id": f"t{n}", "outcome": "passed", "detail": ""} for n in range(3)]
    checks = {"passed": True, "problem": None, "tests": tests, "seconds": 0.1, "revision": 1}
    experiment = {**VERIFIED["experiments"][1], "kind": "unloadable"}
    verification = {
        **VERIFIED,
        "source": "checks",
        "command": "the acceptance checks",
        "holds": True,
    }
    verification |= {"problem": None, "own_word": False, "experiments": [experiment]}
    result = Result("42", "ada", checks=checks, verification=verification)
    html = panel("outcome", a_record(review=None, result=result))
    assert 'Verified</span> <span class="quiet">3 of 3 acceptance checks passed</span>' in html
    assert "made unloadable: " in html
    assert "the checks fail, as they should" in html


def test_a_review_shows_the_verification_instead_of_unproven_claims():
    payload = {"plan": [], "answer": "a", "runs": [], "artifacts": [], "revision": 1}
    review_payload = {**payload, "unproven": VERIFIED["problem"], "verification": VERIFIED}
    html = panel("review", a_record(review=Review("r1", ReviewKind.REVIEW, review_payload)))
    assert "Not verified</span> <code>pytest -q</code>" in html
    assert "<strong>No evidence.</strong>" not in html
    older = {**payload, "unproven": "nothing has run"}
    html = panel("review", a_record(review=Review("r1", ReviewKind.REVIEW, older)))
    assert "<strong>No evidence.</strong> nothing has run" in html


@pytest.mark.parametrize(
    ("outcomes", "unproven", "question", "reason"),
    [
        (
            ("passed", "failed"),
            "1 of 2 checks failed",
            "Approve against the evidence?",
            "<strong>1 test fails.</strong>",
        ),
        (
            (),
            "nothing has been run",
            "Approve against the evidence?",
            "<strong>Nothing ran.</strong>",
        ),
        (("passed",), None, "Approve revision 1?", "autofocus>Approve</button>"),
    ],
)
def test_the_question_before_an_approval_names_missing_evidence(
    outcomes, unproven, question, reason
):
    tests = [
        {"id": f"t{n}", "outcome": outcome, "detail": ""} for n, outcome in enumerate(outcomes)
    ]
    checks = {"passed": unproven is None, "problem": None, "tests": tests, "seconds": 1}
    payload = {"plan": [], "answer": "a", "runs": [], "artifacts": [], "revision": 1}
    payload |= {"unproven": unproven, "checks": checks if tests else None}
    html = panel("review", a_record(review=Review("r1", ReviewKind.REVIEW, payload)))
    assert f">{question}</h2>" in html
    assert reason in html
    overrides = unproven is not None
    assert ('name="override" value="true"' in html, "autofocus" in html) == (
        overrides,
        not overrides,
    )
