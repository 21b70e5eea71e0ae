"""The comparison of a job with its replay, and which jobs can be replayed."""

from __future__ import annotations

import pytest
from support.servers.tiny_service import Answer, event, job, stream

from api.schemas.job_request import JobRequest
from api.schemas.job_spec import Spec
from cli.main import run
from cli.replay.comparison import compare
from cli.replay.original import OMITTED_FIELDS, fetch_original
from fettle import Service

MESSAGE = {
    "number": 1,
    "at": "2026-11-27T12:00:00Z",
    "by": "ada",
    "person": "ada",
    "text": "Sort in reverse",
    "read_by": [],
}
SPEC = {
    "task": "Sort a list",
    "review": True,
    "model": "groq:m",
    "steps": [],
    "max_revisions": 3,
    "on_exhausted": "accept",
    "timeout_seconds": 900,
    "retry_of": None,
    "rebase": None,
}
BASE = "c0ffee" * 6 + "c0ff"


def text(content, digest=None):
    return {"text": content, "dropped_bytes": 0, "digest": digest, "href": f"/texts/{content}"}


def a_run(stdout="42\n", **changed):
    plain = {"number": 1, "revision": 1, "by": "executor", "end": "exited", "exit_code": 0}
    more = {"signal": None, "succeeded": True, "refused": [], "artifacts": [], "seconds": 0.1}
    texts = {"code": text("print(42)"), "stdout": text(stdout), "stderr": text("")}
    return {**plain, **more, **texts, **changed}


def critique(verdict="approve"):
    fields = {"revision": 1, "verdict": verdict, "feedback": "", "run": "r1", "overruled": None}
    return {**fields, "at": "2026-11-21T12:00:00.000Z"}


def finished_job(**changed):
    return job(**{"runs": [a_run()], "critiques": [critique()], "spec": SPEC, **changed})


REPAIR = {"run": "r2", "of": "r1", "class": "name", "cause": "x", "diff": {"text": "-a\n+b"}}
REPORT = {"passed": True, "problem": None, "tests": [{"id": "t.py::a", "outcome": "passed"}]}


def differences_from_original(new):
    return {part.part: set(part.differs) for part in compare(finished_job(), new) if not part.same}


def test_times_cost_and_ids_do_not_count():
    replayed = finished_job(id="j2", ran_seconds=9, runs=[a_run(seconds=3.0)], cost={})
    assert differences_from_original(replayed) == {}
    parts = [part.part for part in compare(finished_job(), replayed)]
    assert parts == ["plan", "run 1", "verdict 1", "files", "outcome"]


@pytest.mark.parametrize(
    ("changed", "differences"),
    [
        ({"plan": {"steps": ["Else"]}}, {"plan": {"steps"}}),
        ({"plan": None}, {"plan": {"steps"}}),
        ({"runs": [a_run("43\n")]}, {"run 1": {"stdout"}}),
        ({"runs": [a_run(exit_code=1, succeeded=False)]}, {"run 1": {"exit_code", "succeeded"}}),
        ({"runs": [a_run(), a_run()]}, {"run 2": {"there"}}),
        ({"runs": []}, {"run 1": {"there"}}),
        ({"runs": [a_run(code=text("print(42)", "d"))]}, {"run 1": {"whole texts"}}),
        ({"critiques": [critique("revise")]}, {"verdict 1": {"verdict"}}),
        ({"artifacts": [{"name": "a", "digest": "1"}]}, {"files": {"a"}}),
        ({"repairs": [REPAIR]}, {"repair 1": {"there"}}),
        ({"checks": REPORT}, {"checks 1": {"there"}}),
        ({"status": "failed", "reason": "rejected"}, {"outcome": {"status", "reason"}}),
        ({"result": None}, {"outcome": {"approved by", "answer", "override"}}),
    ],
)
def test_differences_are_named(changed, differences):
    assert differences_from_original(finished_job(**changed)) == differences


def test_verdicts_of_two_releases_are_compared_in_one_form():
    older = critique()
    newer = {**older, "runs": ["r1"], "unmet": []}
    del newer["run"]
    assert differences_from_original(finished_job(critiques=[newer])) == {}
    unmet = [{"criterion": "c", "location": "", "reason": ""}]
    changed = finished_job(critiques=[{**newer, "runs": ["r2"], "unmet": unmet}])
    assert differences_from_original(changed) == {"verdict 1": {"runs", "unmet"}}


def test_a_difference_is_rendered():
    parts = compare(finished_job(), finished_job(runs=[a_run("43\n")]))
    lines = next("\n".join(part.difference_lines()) for part in parts if not part.same)
    assert lines.startswith("run 1, stdout:\n--- recorded\n+++ played\n")
    assert "-42\n+43" in lines


COMMENT = {"path": "a.py", "line": 1, "side": "new", "text": "Why?"}
ON_A_LINE = {**COMMENT, "excerpt": ["+A = 1"], "at": 0, "base": None}


def test_a_job_is_fetched_with_its_files_and_decisions(tiny):
    events_seen = [
        event(1, "decided", action="approve", feedback="", by="root"),
        event(2, "begun_anew", by="root", format=2),
        event(3, "decided", action="revise", feedback="More.", by="ada", comments=[ON_A_LINE]),
        event(4, "decided", action="edit", feedback="", by="bob"),
        event(5, "run_finished", **a_run(number=2, by="bob", code=text("mine"))),
        event(6, "decided", action="approve", feedback="", by="eve", override=True),
        event(7, "succeeded", approved_by="eve"),
    ]
    checks = {"files": ["t.py"], "command": "pytest", "cases": ["case 1"]}
    steps = {"steps": ["A.", "B."], "steps_after": [None, []]}
    spec = {**SPEC, "pause": "every_run", "checks": checks, **steps}
    tiny.on("GET /jobs/j1/files/.fettle/cases.json", Answer(200, b'[{"argv": ["a"]}]'))
    tiny.on("GET /jobs/j1", Answer(200, finished_job(spec=spec)))
    tiny.on("GET /jobs/j1/events", stream(*events_seen))
    tiny.on("GET /jobs/j1/runs/2/code", Answer(200, b"print('mine')"))
    tiny.on("GET /jobs/j1/files/t.py", Answer(200, b"def test(): pass\n"))
    tiny.on("GET /jobs/j1/recording", Answer(200, b"about: x\n"))
    tiny.on("GET /jobs/j1/files", Answer(200, {"files": [{"path": "a.py"}]}))
    tiny.on("GET /jobs/j1/files/a.py", Answer(200, b"A = 1\n"))
    with Service(tiny.url, "k") as service:
        original = fetch_original(service, "j1")
    assert original.recording == b"about: x\n"
    assert original.request["model"] == "recording:j1"
    assert original.files == {"a.py": b"A = 1\n"}
    assert original.request["checks"] == {
        "files": {"t.py": "def test(): pass\n"},
        "command": "pytest",
        "cases": [{"argv": ["a"]}],
    }
    assert original.request["pause"] == "every_run"
    assert original.request["steps"] == ["A.", {"text": "B.", "after": []}]
    assert {"retry_of", "rebase", "steps_after"}.isdisjoint(original.request)
    assert original.names_in_prompts == {"ada", "bob"}
    decisions = [
        (by, decision["action"], decision.get("code")) for by, decision in original.decisions
    ]
    assert original.decisions[0][1]["comments"] == [COMMENT]
    approval = {"action": "approve", "override": True}
    assert original.decisions[-1][1].items() > approval.items()
    assert original.decisions[-1][1]["feedback"], "an override needs a remark"
    code = "print('mine')"
    assert decisions == [("ada", "revise", None), ("bob", "edit", code), ("eve", "approve", None)]
    files = [
        request.path.rpartition("/")[2] for request in tiny.requests if "files" in request.path
    ]
    assert files == ["files?at=start", "a.py?at=start", "t.py?at=checks", "cases.json?at=checks"]


@pytest.mark.parametrize(
    ("repo", "expected_repo", "expected_bundle"),
    [
        (
            {"url": "https://git.test/a.git", "ref": "main", "bundle": None},
            {"url": "https://git.test/a.git", "ref": BASE},
            None,
        ),
        ({"url": None, "ref": None, "bundle": "ab"}, {"ref": BASE}, b"the bundle"),
    ],
)
def test_a_replay_uses_the_repository_at_the_original_commit(
    tiny, repo, expected_repo, expected_bundle
):
    result = {**finished_job()["result"], "patch": {"digest": "cd", "base": BASE}}
    alone = {"review": False, "pause": "before_critic"}
    tiny.on(
        "GET /jobs/j1",
        Answer(200, finished_job(spec={**SPEC, **alone, "repo": repo}, result=result)),
    )
    tiny.on("GET /jobs/j1/events", stream(event(1, "succeeded", approved_by="critic")))
    tiny.on("GET /jobs/j1/recording", Answer(200, b"about: x\n"))
    tiny.on("GET /jobs/j1/files", Answer(200, {"files": []}))
    tiny.on("GET /jobs/j1/bundle", Answer(200, b"the bundle"))
    with Service(tiny.url, "k") as service:
        original = fetch_original(service, "j1")
    assert (original.request["repo"], original.bundle) == (expected_repo, expected_bundle)
    assert "pause" not in original.request, "which is a mistake without a review"
    other_result = {**result, "patch": {**result["patch"], "digest": "ef"}}
    parts = compare(finished_job(result=result), finished_job(result=other_result))
    assert [set(part.differs) for part in parts if not part.same] == [{"patch"}]


def test_a_replay_requests_every_field_again_or_omits_it_by_name():
    assert Spec.model_fields.keys() | {"conversation_id"} >= OMITTED_FIELDS
    assert Spec.model_fields.keys() - OMITTED_FIELDS <= JobRequest.model_fields.keys()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"status": "cancelled"}, "its status is cancelled"),
        ({"status": "failed", "reason": "deadline"}, "outside reason (deadline)"),
        ({"spec": {**SPEC, "kind": "verification"}}, "calls no model"),
        ({"spec": {**SPEC, "retry_of": "j0"}}, "it is a retry, which continued the job j0"),
        ({"conversation_id": "c"}, "it follows up other jobs"),
        ({"messages": [MESSAGE]}, "persons sent it messages"),
    ],
)
def test_a_job_that_cannot_be_replayed_is_refused(tiny, capsys, changed, message):
    tiny.on("GET /jobs/j1", Answer(200, finished_job(**changed)))
    assert run(["--url", tiny.url, "replay", "j1"]) == 1
    assert message in capsys.readouterr().err


def test_only_the_owner_can_read_a_written_recording(tiny, capsys, finished, tmp_path):
    tiny.on("GET /jobs/j1/recording", Answer(200, b"about: x\n"))
    file = tmp_path / "it.yaml"
    assert run(["--url", tiny.url, "run", "Sort", "--record", str(file)]) == 0
    assert tiny.requests[0].body == {"task": "Sort", "record": True}
    assert file.read_bytes() == b"about: x\n"
    assert file.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == [file]
    assert f"recorded: {file}" in capsys.readouterr().out


def test_a_missing_folder_is_reported_before_any_cost(tiny, capsys, tmp_path):
    file = tmp_path / "nowhere" / "it.yaml"
    assert run(["--url", tiny.url, "run", "Sort", "--record", str(file)]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert tiny.requests == []
