"""The output for a job that waits for a decision, with the next command or page."""

from __future__ import annotations

import signal

import pytest
from support.processes.fettle_command import environment, started
from support.servers.tiny_service import Answer, event, job, problem, stream

COMMAND = "fettle review j1 approve|revise|edit|reject|delegate --digest d1"
DECIDE = f"awaiting review: decide with `{COMMAND}`\n"


def artifact(name: str, content: bytes, digest: str, media_type: str = "text/x-python") -> dict:
    return {"name": name, "digest": digest, "size": len(content), "media_type": media_type}


GREY = {"level": "grey", "reason": "Nothing ran", "facts": ["a fact"], "needs_override": True}
GREEN = {**GREY, "level": "green", "reason": "Verified: `pytest -q`", "needs_override": False}


def waiting(**payload) -> dict:
    review = {"id": "v1", "kind": "review", "approvals_needed": 1, "verdict": GREY, "digest": "d1"}
    review["payload"] = {"answer": "Sorted now.", "unproven": "nothing has run", **payload}
    return job(status="awaiting_review", result=None, review=review)


PUSHED = {"branch": "fettle/j1", "commit": "c" * 40, "pull_request": None, "note": ""}

PATCH = b"""\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1 +1 @@
-A = 1
+A = \x1b2
"""


@pytest.fixture(params=[False, True])
def changed(request, tiny):
    """A job that changed `a.py`, on a repository or not."""
    about = {"digest": "0" * 64, "size": 9, "base": "c" * 40} if request.param else None
    about = about and {**about, "files": 1, "insertions": 1, "deletions": 1}
    stored = {"patch": about} if about else {}
    a_file = artifact("a.py", b"A = 2\n", "0" * 64)
    job = waiting(artifacts=[a_file], **stored)
    job["spec"] |= {"repo": {"url": None, "ref": None} if about else None, "setup": ""}
    tiny.on("GET /jobs/j1", Answer(200, job))
    row = {"notes": [], "insertions": 1, "deletions": 1, "unread": ""}
    files = [{"path": "a.py", "facts": ["1 test skipped: `\x1b[2J`", "lock file"], **row}]
    tiny.changes = {"since": "start", "until": "now", "patch": about, "files": files}
    tiny.on("GET /jobs/j1/changes", Answer(200, {**tiny.changes, "complete": True}))
    tiny.on("GET /jobs/j1/patch", Answer(200, PATCH, {"Content-Type": "text/x-diff"}))
    return tiny


def test_show_has_answer_files_and_change_and_ends_with_the_commands_to_decide(fettle, changed):
    out = fettle("show", "j1")[1]
    parts = (
        "answer:\n    Sorted now.\n",
        "file: a.py (text/x-python, 6 B)\n",
        "look at: a.py: 1 test skipped: `\\x1b[2J`; lock file\n",
        "change: 1 file, +1 -1 lines; `fettle patch j1` writes all of it\n",
        "    -A = 1\n    +A = \\x1b2\n",
        "evidence: grey: Nothing ran\na fact\n",
    )
    positions = [out.index(part) for part in parts]
    assert positions == sorted(positions)
    assert out.endswith(DECIDE)
    changed.on("GET /jobs/j1/changes", Answer(200, {**changed.changes, "complete": False}))
    assert "look at: the patch: it is too large to be checked\n" in fettle("show", "j1")[1]


def test_show_names_the_reason_for_a_change_that_cannot_be_read(fettle, changed):
    changed.on("GET /jobs/j1/patch", problem(404, "Not found", "it was removed"))
    out = fettle("show", "j1")[1]
    assert "change: Not found: it was removed\n" in out
    assert out.endswith(DECIDE)


def test_run_names_the_page_and_the_command_to_follow_up(fettle, finished, tiny):
    out = fettle("run", "Sort")[1]
    assert out.startswith(f"job: j1\npage: {tiny.url}/app/jobs/j1\n")
    assert f"look: {tiny.url}/app/jobs/j1; `fettle show j1` shows all of it\n" in out
    assert out.endswith(
        'follow up: `fettle run --conversation j1 "..."` goes on from these files\n'
    )


def test_run_without_waiting_prints_the_id_alone_to_a_program(fettle, finished):
    assert fettle("run", "Sort", "--no-wait") == (0, "j1\n", "")


def test_run_without_waiting_names_the_page_on_a_terminal(finished, tiny, tmp_path):
    env = environment(tmp_path, FETTLE_URL=tiny.url, COLUMNS="200")
    with started("run", "Sort", "--no-wait", cwd=tmp_path, env=env, terminal=True) as command:
        command.wait_for(f"{tiny.url}/app/jobs/j1; `fettle watch j1` follows it")
        assert command.end(20) == 0


@pytest.mark.parametrize(
    ("end_fields", "last"),
    [
        ({"status": "failed", "reason": "deadline", "result": None}, "`fettle retry j1`"),
        ({"spec": {"task": "x", "kind": "verification"}}, "`fettle show j1`"),
        (
            {"spec": {"task": "x", "repo": {"url": None, "ref": None}}},
            "goes on from this change; --repo . sends the present state of your repository",
        ),
        (
            {"spec": {"task": "x", "repo": {"url": "https://git.example.org/a", "ref": None}}},
            "goes on from this change",
        ),
        (
            {
                "spec": {"task": "x", "repo": {"url": "https://git.example.org/a", "ref": None}},
                "result": {**job()["result"], "delivery": PUSHED},
            },
            "adds to the branch fettle/j1",
        ),
    ],
)
def test_run_offers_only_possible_actions(fettle, finished, tiny, end_fields, last):
    tiny.on("GET /jobs/j1", Answer(200, job(**end_fields)))
    assert last in fettle("watch", "j1")[1].splitlines()[-1]


def test_run_shows_the_answer_and_the_page_at_a_review(fettle, finished, tiny):
    opened = event(1, "review_opened", review_id="v1", kind="review")
    tiny.on("GET /jobs/j1/events", stream(opened, event(2, "succeeded", approved_by="ada")))
    tiny.on("GET /jobs/j1", Answer(200, waiting(artifacts=[])), Answer(200, job()))
    out = fettle("run", "Sort")[1]
    look_line = (
        f"look: {tiny.url}/app/jobs/j1; `fettle show j1` shows the answer, the files and the change"
    )
    assert f"answer:\n    Sorted now.\n{look_line}\ndecide: fettle review j1 approve|" in out


@pytest.mark.parametrize(
    ("answers", "sent"),
    [
        (["approve", "", "approve", "y", "", "approve", "y", "It is a text."], True),
        (["approve"], False),
    ],
    ids=["grey", "green"],
)
def test_a_person_is_asked_for_a_remark_before_an_override(finished, tiny, tmp_path, answers, sent):
    env = at_a_review(tiny, tmp_path, GREY if sent else GREEN)
    with started("watch", "j1", cwd=tmp_path, env=env, terminal=True) as command:
        command.wait_for("decide: ")
        for answer in answers:
            assert "POST" not in {request.method for request in tiny.requests}
            command.type(f"{answer}\n")
        if sent:
            command.wait_for("Nothing ran. Approve against the evidence? [y/N]")
            command.wait_for("not approved")
            command.wait_for("why? ")
        assert command.end(20) == 0
    (decision,) = [request.body for request in tiny.requests if request.method == "POST"]
    override = {"override": True, "feedback": "It is a text."} if sent else {}
    about = {"review_id": "v1", "digest": "0" * 64}
    assert decision == {"action": "approve", **about, **override}
    assert not list((tmp_path / "tmp").iterdir()), "the saved files are removed"


def at_a_review(tiny, tmp_path, verdict) -> dict[str, str]:
    """Let the job wait for a decision on a file; returns the environment of a command."""
    opened = event(1, "review_opened", review_id="v1", kind="review")
    tiny.on("GET /jobs/j1/events", stream(opened, event(2, "succeeded", approved_by="ada")))
    artifacts = [artifact("a.py", b"A = 1\n", "0" * 64)]
    review = waiting(artifacts=artifacts, plan=[], decisions=[], critiques=[], runs=[], code="")
    review["review"] |= {"digest": "0" * 64, "verdict": verdict}
    tiny.on("GET /jobs/j1", Answer(200, review), Answer(200, review), Answer(200, job()))
    file = {"path": "a.py", "digest": "0" * 64, "size": 6, "href": "/"}
    tiny.on("GET /jobs/j1/files", Answer(200, {"files": [file], "links": {}, "digest": None}))
    tiny.on("GET /jobs/j1/files/a.py", Answer(200, b"A = 1\n", {"Content-Type": "text/plain"}))
    tiny.on("POST /jobs/j1/review", Answer(200, job()))
    return environment(tmp_path, FETTLE_URL=tiny.url)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_review_that_is_interrupted_leaves_no_files(finished, tiny, tmp_path, signum):
    env = at_a_review(tiny, tmp_path, GREEN)
    with started("watch", "j1", cwd=tmp_path, env=env, terminal=True) as command:
        command.wait_for("decide: ")
        assert list((tmp_path / "tmp").glob("fettle-review-*/a.py"))
        command.interrupt(signum)
        command.end(20)
    assert not list((tmp_path / "tmp").iterdir())


def test_show_names_who_approved_what_on_which_evidence(fettle, tiny):
    approval = {
        "by": "laptop",
        "person": "Grace Hopper",
        "at": "2026-11-26T11:38:02.120Z",
        "override": True,
        "digest": "5b41" * 16,
        "feedback": "The test is wrong.",
        "evidence": {**GREY, "level": "red", "reason": "1 test fails", "facts": []},
    }
    done = job(override=True)
    done["result"] |= {"approved_by": "Grace Hopper", "override": True, "approvals": [approval]}
    tiny.on("GET /jobs/j1", Answer(200, done))
    out = fettle("show", "j1")[1]
    assert "succeeded: approved by Grace Hopper, overriding the evidence\n" in out
    assert "at 2026-11-26 11:38:02 UTC, overriding the evidence\n" in out
    assert f"digest: {'5b41' * 16}\nevidence: red: 1 test fails\n    The test is wrong.\n" in out
