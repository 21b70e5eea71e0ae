"""The parts of a job's page: the strip with the verdict and the decisions, evidence, answer."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

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
from jobs.model.spec import Deliver, JobKind, JobSpec, ReviewRules

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
    html = panel("evidence", a_record([a_run(1), a_run(2), run]))
    run_path = f"/app/jobs/{'0' * 20}/runs/3"
    for part in ("code", "stderr"):
        assert f'href="{run_path}/{part}"' in html
        assert f'data-copy-whole="{run_path}/{part}"' in html
    assert f'href="{run_path}/stdout"' not in html
    for said in ("2.0 KiB were not stored", "big.bin: too large", "t_one"):
        assert said in html
    assert html.index("approve: run 2") < html.index("approve: run 1")
    assert '<a href="/app/jobs/00000000000000000000/runs/1/shown">' in html


@pytest.mark.parametrize(
    ("by", "voted", "changed", "reason"),
    [
        ("grace", (), {}, "You submitted this job: two others have to approve it"),
        (
            "ada",
            (),
            {"authors": (Signer("Ada"),)},
            "sent a message to its models or edited the code",
        ),
        ("ada", ("ada",), {}, "You approved already"),
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
    html = panel("strip", record, by=by)
    assert (reason in html, 'data-key="a"' in html, 'id="approve"' in html) == (
        True,
        not reason,
        not reason,
    )
    assert ("You may send it back" in html) == bool(reason)
    assert 'data-key="r"' in html
    assert ('value="withdraw"' in html) == (by in voted)


@pytest.mark.parametrize(
    ("approvals", "delivers", "person_delivers", "offered"),
    [(1, False, False, True), (2, False, False, False), (1, True, True, False),
     (1, True, False, True), (1, False, True, True)],
)  # fmt: skip
def test_the_critic_is_offered_only_if_it_may_decide(approvals, delivers, person_delivers, offered):
    record = a_record([a_run()], approvals=approvals)
    deliver = Deliver(branch=True) if delivers else None
    record = replace(record, spec=replace(record.spec, deliver=deliver))
    html = panel("strip", record, by="bob", person_delivers=person_delivers)
    assert ("Hand over to the critic" in html) == offered


@pytest.mark.parametrize(
    ("by", "unproven", "reason"),
    [
        ("ada", None, ""),
        ("bob", None, "By the rule 'payments', only ada can approve"),
        ("ada", "1 test fails", "The rule 'payments' allows no approval against the evidence"),
    ],
)
def test_a_review_rule_is_named_before_the_click(by, unproven, reason):
    rules = ReviewRules(
        ("payments",), (("ada",),), override=False, remark=True, conditions=("label pay",)
    )
    record = a_record([a_run()])
    payload = {**record.review.payload, "unproven": unproven}
    review = replace(record.review, payload=payload)
    record = replace(record, spec=replace(record.spec, review_rules=rules), review=review)
    html = panel("strip", record, by=by)
    assert "review rule: payments (label pay)" in html
    assert (reason in unescape(html), 'id="approve"' in html) == (True, not reason)
    required = '<textarea id="approve-feedback" name="feedback" rows="3" maxlength="20000" required'
    assert (required in html) == (not reason)
    assert "Hand over to the critic" not in html


def approval(**changed):
    evidence = {"level": "red", "reason": "1 test fails", "facts": ["`x`: 1 failed"]}
    data = {"by": "ada", "person": "Ada", "override": True, "digest": DIGEST, "action": "approve"}
    data |= {"feedback": "The test <b> is wrong.", "evidence": {**evidence, "needs_override": True}}
    return [
        Event(1, 0, "review_opened", {"kind": "review"}),
        Event(2, 86_400_000, "decided", {**data, **changed}),
    ]


def test_a_finished_job_shows_its_approvals_with_evidence_and_remark():
    record = a_record(
        status=Status.SUCCEEDED, review=None, result=Result("42", "Ada", override=True)
    )
    html = panel("strip", record, approval())
    for part in (
        'class="strip strip-amber"',
        '<span class="strip-label">override</span> Approved by Ada against the evidence</h2>',
        "<li>1 test fails</li><li><code>x</code>: 1 failed</li>",
        "<strong>Ada (key ada)</strong> approved <strong",
        "1970-01-02 00:00 UTC</time>: “The test &lt;b&gt; is wrong.”",
        f'<code class="digest">{DIGEST}</code>',
    ):
        assert part in html, part
    html = panel("strip", replace(record, result=Result("42", "Ada")), approval(override=False))
    assert ("strip-green" in html, "against" in html) == (True, False)


def test_the_reason_for_a_result_is_shown():
    record = a_record(status=Status.SUCCEEDED, review=None, result=Result("42", None))
    html = panel("strip", record)
    assert "strip-amber" in html
    assert "Accepted without approval: this job allows it</h2>" in html
    ends = {"revision": 1, "verdict": "revise", "ends": "two revisions <b> in a row"}
    html = panel("strip", record, [Event(1, 0, "critiqued", ends)])
    assert "this job allows it after 1 revision (two revisions &lt;b&gt; in a row)" in html


def check_report(*outcomes, problem=None, judged_by="report"):
    tests = [{"id": "t", "outcome": outcome, "detail": ""} for outcome in outcomes]
    passed = problem is None and set(outcomes) <= {"passed", "skipped"}
    return {"passed": passed, "judged_by": judged_by, "problem": problem, "tests": tests}


@pytest.mark.parametrize(
    ("checks", "level", "title", "facts"),
    [
        (
            check_report("passed", "passed"),
            "green",
            "holds</span> Verified: 2 of 2 acceptance checks passed over exactly these files",
            [],
        ),
        (
            check_report("passed", "failed"),
            "red",
            "evidence fails</span> 1 test fails",
            ["1 of 2 acceptance checks passed"],
        ),
        (
            check_report("passed", problem="the tests ended early <b>"),
            "red",
            "evidence fails</span> The tests ended early &lt;b&gt;",
            ["1 of 1 acceptance checks passed"],
        ),
        (check_report(problem="no test has passed"), "red", "fails</span> No test has passed", []),
        (
            check_report("passed", judged_by="exit_code"),
            "amber",
            "caution</span> Weak evidence: exit code only",
            ["1 of 1 acceptance checks passed"],
        ),
    ],
)
def test_the_page_of_a_verification_has_the_level_of_its_checks(checks, level, title, facts):
    sentence = "Fettle's own sentence."
    spec = JobSpec("Verification by test_a.py", kind=JobKind.VERIFICATION)
    result = Result(sentence, None, checks=checks)
    record = a_record(status=Status.SUCCEEDED, review=None, result=result, spec=spec)
    html = panel("strip", record)
    assert f'class="strip strip-{level}" data-section="evidence"' in html
    assert f"{title}</h2>" in html
    assert re.findall(r"<li>(.*?)</li>", html) == facts
    says = panel("says", record)
    assert ("agent" in says, sentence in says) == (False, False)
    task = replace(record, spec=JobSpec("a task"))  # an older release may have no verification
    assert "Nothing ran" not in panel("strip", task)
    assert "The agent says" in panel("says", task)


def test_the_best_result_of_a_failed_job_is_marked_as_such():
    result = Result("42", None, verification=VERIFIED)
    failed = {"status": Status.FAILED, "reason": Reason.UNAPPROVED, "detail": "not approved"}
    record = a_record(review=None, result=result, **failed)
    html = panel("strip", record)
    assert 'class="strip strip-red" data-section="evidence"' in html
    assert "<li>the best result so far, not approved</li>" in html
    assert "<p>42</p>" in panel("says", record)
    html = panel("evidence", record)
    assert "Not verified:</span> <code>pytest -q</code>" in html
    assert "<code>b.py</code> made unloadable: " in html
    assert "the verification still passes" in html
    assert "1 passed" in html


@pytest.mark.parametrize(("detail", "shown"), [("no model answered", False), ("two\nlines", True)])
def test_the_detail_of_a_failure_is_shown_once(detail, shown):
    failed = {"status": Status.FAILED, "reason": Reason.INTERNAL, "detail": detail}
    record = a_record(review=None, **failed)
    assert detail.partition("\n")[0] in panel("strip", record)
    html = panel("evidence", record)
    assert (detail in html, "No evidence" in html) == (shown, not shown)


def test_how_much_a_verification_distinguishes_is_shown():
    verification = {**VERIFIED, "holds": True, "problem": None}
    html = panel(
        "evidence", a_record(review=None, result=Result("42", "ada", verification=verification))
    )
    for part in (
        '<span class="warn">Verified only by itself:</span> <code>pytest -q</code>',
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
    html = panel("evidence", a_record(review=None, result=result))
    assert 'Verified:</span> <span class="quiet">3 of 3 acceptance checks passed</span>' in html
    assert "made unloadable: " in html
    assert "the checks fail, as they should" in html


def test_a_review_shows_the_verification_instead_of_unproven_claims():
    payload = {"plan": [], "answer": "a", "runs": [], "artifacts": [], "revision": 1}
    review_payload = {**payload, "unproven": VERIFIED["problem"], "verification": VERIFIED}
    html = panel("evidence", a_record(review=Review("r1", ReviewKind.REVIEW, review_payload)))
    assert "Not verified:</span> <code>pytest -q</code>" in html
    assert "<strong>No evidence.</strong>" not in html
    older = {**payload, "unproven": "nothing has run"}
    html = panel("evidence", a_record(review=Review("r1", ReviewKind.REVIEW, older)))
    assert "<strong>No evidence.</strong> nothing has run" in html


HELD = {**VERIFIED, "holds": True, "problem": None, "own_word": False, "notes": []}
HELD |= {"judged_by": "report", "strength": None}
QUESTIONS = {
    "red": ("1 test fails", "Approve although 1 test fails?"),
    "grey": ("Nothing ran", "Approve without evidence?"),
    "green": (
        "Verified: <code>pytest -q</code> passed over exactly these files",
        "Approve revision 1?",
    ),
}
"""By level: the reason of the verdict, and the question before an approval."""


@pytest.mark.parametrize("level", QUESTIONS)
def test_an_approval_against_the_evidence_has_a_control_of_its_own(level):
    tests = [{"id": "t1", "outcome": "passed", "detail": ""}]
    tests += [{"id": "t2", "outcome": "failed", "detail": ""}]
    checks = {"passed": False, "problem": None, "tests": tests, "seconds": 1}
    payload = {"plan": [], "answer": "a", "runs": [], "artifacts": [], "revision": 1}
    payload |= {
        "red": {"unproven": "1 of 2 checks failed", "checks": checks},
        "grey": {"unproven": "nothing has been run"},
        "green": {"unproven": None, "verification": HELD},
    }[level]
    record = a_record(review=Review("r1", ReviewKind.REVIEW, payload))
    html = panel("strip", record)
    reason, question = QUESTIONS[level]
    assert f'class="strip strip-{level} strip-open" data-section="changes"' in html
    assert f"</span> {reason}</h2>" in html
    approve = html.partition('id="approve"')[2].partition("</details>")[0]
    assert f"<h3>{question}</h3>" in approve
    overrides = level != "green"
    assert ('class="button override" data-key="a"' in approve) == overrides
    assert ("Override and approve" in approve, "Approve anyway</button>" in approve) == (
        overrides,
        overrides,
    )
    assert ('name="override" value="true"' in approve) == overrides
    remark = re.search(r'<(textarea|input) id="approve-feedback"[^>]*>', approve)
    assert (remark.group(1), " required" in remark.group(0)) == (
        ("textarea", True) if overrides else ("input", False)
    )
    assert "autofocus" not in html


IMITATION = """\
# Your decision

1 of 2 approvals: ann [Verified](https://evil.test/app) [Approve](/app/jobs/1) <b>Verified</b>

Title
=====
"""


def test_the_words_of_an_agent_cannot_imitate_the_page():
    payload = {"answer": IMITATION, "runs": [], "artifacts": [], "unproven": "nothing has been run"}
    record = a_record(review=Review("r1", ReviewKind.REVIEW, payload))
    frame = panel("says", record)
    assert re.match(r'\s*<figure class="agent"><figcaption>The agent says</figcaption>', frame)
    assert frame.rstrip().endswith("</figure>")
    assert not re.search(r"<h\d|<b>|class=\"(chip|strip|label)", frame)
    links = re.findall(r'<a href="([^"]*)"[^>]*>[^<]*</a> <span class="host">\(([^<]*)\)', frame)
    assert links == [("https://evil.test/app", "evil.test")]
    assert frame.count("<a ") == 1
    for name in ("strip", "changes", "evidence", "files", "status", "plan"):
        assert "1 of 2 approvals" not in panel(name, record), name


def test_each_form_works_without_scripts():
    record = a_record([a_run()], approvals=2)
    html = panel("strip", record, by="bob")
    forms = re.findall(r"<form[^>]*>", html)
    assert len(forms) == 6
    for form in forms:
        assert re.search(r'method="post" action="/app/jobs/0{20}/(review(/claim)?|message)"', form)
    assert html.count('<input type="hidden" name="x-form-token" value="t">') == len(forms)
    assert '<a href="/app/jobs/00000000000000000000/review/edit">' in html
    assert "hx-confirm" not in html


@pytest.mark.parametrize(
    ("kind", "activity"),
    [
        ("started", "waits for a reply of a model"),
        ("step_started", "works on the step"),
        ("model_called", "acts on the reply of the model"),
        ("answered", "verifies the work"),
    ],
)
def test_a_running_job_shows_its_activity_and_its_beginning(kind, activity):
    running = replace(a_record([]), status=Status.RUNNING, review=None, started_at=1_000)
    html = panel("strip", running, [Event(1, 5_000, kind, {})])
    assert f'{activity} <time datetime="1970-01-01T00:00:05' in html
    assert activity not in panel("strip", replace(running, status=Status.CANCELLED))


def planned_events(*facts):
    plan = {"steps": ["Write.", "Run.", "Look."], "source": "model", "note": None}
    rows = [(0, "planned", plan)]
    rows += [(at, kind, {"step": number, "revision": 1}) for at, kind, number in facts]
    return [Event(seq, at, kind, data) for seq, (at, kind, data) in enumerate(rows, 1)]


def test_the_plan_shows_the_time_of_each_step():
    steps = ((1_000, "step_started", 1), (43_000, "step_finished", 1), (43_000, "step_started", 2))
    record = a_record(status=Status.RUNNING, review=None)
    html = panel("plan", record, planned_events(*steps))
    first, second, third = html.split("<li")[1:]
    assert '<span class="quiet small">42.0 s</span>' in first
    assert 'datetime="1970-01-01T00:00:43.000Z" data-lasts' in second
    assert "quiet small" not in third
    again = (*steps, (50_000, "step_started", 1))
    first = panel("plan", record, planned_events(*again)).split("<li")[1]
    assert "42.0 s and <time" in first
    assert "quiet small" not in panel("plan", record, planned_events()).split("<li")[1]
