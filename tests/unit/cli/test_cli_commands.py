"""Commands against a small service: their requests, their output, their exit codes."""

from __future__ import annotations

import io
import json
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.processes.fettle_command import FETTLE, environment, started
from support.servers.tiny_service import Answer, job, problem

from cli.exit_codes import MEANINGS
from cli.main import run

DOCUMENTED = Path(__file__).parents[3] / "docs" / "outcomes.md"


def test_run_prints_the_answer_and_exits_0(fettle, finished):
    code, out, _ = fettle("run", "Sort a list")
    assert code == 0
    assert "job: j1\n" in out
    assert "succeeded: approved by critic\n" in out
    assert "    It is sorted.\n" in out
    assert "cost: 3 model calls, 1,234 tokens, $0.0012, 4.50 s of work, 5.00 s in all\n" in out


def test_run_sends_each_option(fettle, finished, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("A = 1\n")
    fettle(
        "run", "Sort", "--review", "--model", "groq:x", "--file", "src/a.py",
        "--file", str(tmp_path / "src" / "a.py"), "--conversation", "c1", "--label", "l",
        "--step", "Read it.", "--step", "after none: Sort it.", "--step", "after 1, 2: Test it.",
    )  # fmt: skip
    assert tiny.requests[0].body == {
        "task": "Sort",
        "steps": [
            "Read it.",
            {"text": "Sort it.", "after": []},
            {"text": "Test it.", "after": [1, 2]},
        ],
        "review": True,
        "model": "groq:x",
        "files": {"src/a.py": b"A = 1\n", "a.py": b"A = 1\n"},
        "conversation_id": "c1",
        "labels": ["l"],
    }


def test_run_sends_a_directory_without_hidden_files(fettle, finished, tiny, tmp_path, monkeypatch):
    data = tmp_path / "data"
    (data / "north" / "__pycache__").mkdir(parents=True)
    (data / "sales.xlsx").write_bytes(b"PK\xff\x00")
    (data / "north" / "a.csv").write_text("1,2\n")
    (data / "north" / "__pycache__" / "a.pyc").write_bytes(b"\x00")
    (data / ".git").mkdir()
    (data / ".env").write_text("SECRET=1")
    (data / "link.csv").symlink_to("/etc/passwd")
    expected_files = {"data/north/a.csv": b"1,2\n", "data/sales.xlsx": b"PK\xff\x00"}
    monkeypatch.chdir(tmp_path)
    for folder in ("data", str(data), "../" + tmp_path.name + "/data"):
        code, _, err = fettle("run", "Sort", "--file", folder)
        assert (code, tiny.requests[-3].body["files"]) == (0, expected_files), folder
        assert "left out of the directories: 2 (hidden)" in err
        assert "left out of the directories: 1 (no regular file)" in err
    monkeypatch.chdir(data)
    fettle("run", "Sort", "--file", ".")
    assert tiny.requests[-3].body["files"] == {
        name.removeprefix("data/"): content for name, content in expected_files.items()
    }


def test_run_refuses_a_file_that_is_too_large_before_it_sends(fettle, finished, tiny, tmp_path):
    with (tmp_path / "large.bin").open("wb") as file:
        file.truncate(20 << 20)
    tiny.on("GET /system", Answer(200, {"limits": {"max_files_bytes": 11 << 20}}))
    code, _, err = fettle("run", "Sort", "--file", str(tmp_path / "large.bin"))
    assert code == 1
    assert "at most 11534336 bytes (FETTLE_MAX_FILES_BYTES), not 20971520" in err
    assert [request.path for request in tiny.requests] == ["/system"]
    tiny.on("GET /system", problem(403, "Forbidden"))  # a key with the scope `submit` only
    code, _, _ = fettle("run", "Sort", "--file", str(tmp_path / "large.bin"))
    assert code == 0


def test_two_files_with_the_same_name_are_refused(fettle, tiny, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").write_text(folder)
    code, _, err = fettle("run", "Sort", *(f"--file={tmp_path}/{letter}/x.csv" for letter in "ab"))
    assert code == 2
    assert "would both be x.csv" in err
    assert tiny.requests == []


def test_run_reads_a_task_from_stdin(fettle, finished, tiny, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("A long task\n"))
    fettle("run", "-")
    assert tiny.requests[0].body == {"task": "A long task\n"}


def test_run_json_prints_the_final_job_alone_on_stdout(fettle, finished):
    code, out, err = fettle("run", "Sort", "--json")
    assert code == 0
    assert json.loads(out) == job()
    assert out.count("\n") == 1
    assert "job: j1" in err


@pytest.mark.parametrize(
    ("code", "end_fields"),
    [
        (0, {"status": "succeeded"}),
        (4, {"status": "succeeded", "unapproved": True}),
        (4, {"status": "failed", "reason": "unapproved", "unapproved": True}),
        (5, {"status": "failed", "reason": "rejected"}),
        (5, {"status": "cancelled", "reason": None}),
        (6, {"status": "failed", "reason": "deadline"}),
        (6, {"status": "failed", "reason": "budget_exhausted"}),
        (1, {"status": "failed", "reason": "poisoned"}),
        (1, {"status": "failed", "reason": "of_a_later_release"}),
    ],
)
@pytest.mark.parametrize("command", [("run", "Sort"), ("watch", "j1")])
def test_the_exit_code_depends_on_the_outcome_of_the_job(
    fettle, finished, tiny, command, code, end_fields
):
    tiny.on("GET /jobs/j1", Answer(200, job(**end_fields)))
    assert fettle(*command)[0] == code


def test_help_lists_every_exit_code(fettle):
    for command in ([], ["run"], ["watch"], ["retry"], ["rebase"]):
        events_seen = fettle(*command, "--help")[1]
        for code, meaning in MEANINGS.items():
            assert f"{code:<4} {meaning}" in events_seen, command


def test_the_documentation_lists_every_exit_code():
    rows = dict(re.findall(r"^\| `(\d+)` \| (.*) \|$", DOCUMENTED.read_text(), re.MULTILINE))
    assert {int(code): meaning for code, meaning in rows.items()} == dict(MEANINGS)


def test_a_refused_request_is_bad_usage(fettle, tiny):
    errors = [{"field": "model", "message": "not on the allow-list"}]
    tiny.on("POST /jobs", problem(422, "The request is not valid", "1 error", errors=errors))
    code, _, err = fettle("run", "Sort", "--model", "evil:x")
    assert code == 2
    assert "model: not on the allow-list" in err
    assert "1 error" not in err, "the detail sums the fields up: it would say them twice"


@pytest.mark.parametrize(
    "args", [[], ["frobnicate"], ["run"], ["review", "j1", "applaud"], ["review", "j1", "reject"],
             ["review", "j1", "approve", "--code", __file__],
             ["review", "j1", "approve", "--override"],
             ["review", "j1", "approve", "--override", "-m", " "],
             ["review", "j1", "revise", "--override", "-m", "x"],
             ["review", "j1", "approve", "--comment", "a.py:1:x"],
             ["review", "j1", "revise", "--comment", "a.py: no line"], ["list", "--limit", "0"]],
)  # fmt: skip
def test_bad_usage_exits_2(fettle, args):
    assert fettle(*args)[0] == 2


def test_without_a_service_run_exits_3_and_names_the_command_that_starts_it(capsys):
    assert run(["--url", "http://127.0.0.1:1", "list"]) == 3
    assert "fettle up" in capsys.readouterr().err


def test_an_invalid_setting_exits_2(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("FETTLE_PORT", "a lot")
    assert run(["config"]) == 2
    assert "FETTLE_PORT (environment): " in capsys.readouterr().err
    monkeypatch.delenv("FETTLE_PORT")
    (tmp_path / "fettle.toml").write_text("max_files = -1\n")
    monkeypatch.setenv("FETTLE_CONFIG", str(tmp_path / "fettle.toml"))
    assert run(["config"]) == 2
    assert "FETTLE_MAX_FILES (fettle.toml): " in capsys.readouterr().err


def test_a_file_of_settings_is_named_by_an_option(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    for text, code, expected in (
        ("max_files = -1\n", 2, "FETTLE_MAX_FILES (fettle.toml): "),
        ("max_files: 3\n", 2, f"the file of settings {tmp_path}/fettle.toml is not valid TOML: "),
        ("max_files = 3\n", 0, "FETTLE_MAX_FILES"),
    ):
        (tmp_path / "fettle.toml").write_text(text)
        assert run(["--config", "fettle.toml", "config"]) == code
        assert expected in "".join(capsys.readouterr())
    for words in (["list"], ["config"], ["up"], ["doctor"], ["flower"]):
        assert run(["--config", "missing.toml", *words]) == 2
        assert "'missing.toml' does not exist" in capsys.readouterr().err
        monkeypatch.setenv("FETTLE_CONFIG", "missing.toml")
        assert run(words) == 2
        assert "the file of settings missing.toml does not exist" in capsys.readouterr().err
        monkeypatch.setenv("FETTLE_CONFIG", "")


@pytest.mark.parametrize("kind", ["files", "link"])
def test_up_and_demo_use_no_data_of_the_working_directory(monkeypatch, capsys, tmp_path, kind):
    victim = tmp_path / "victim"
    (victim / "redis").mkdir(parents=True)
    (victim / "up.lock").write_text("mine")
    clone = tmp_path / "clone"
    clone.mkdir()
    if kind == "link":
        (clone / ".fettle").symlink_to(victim)
    else:
        (clone / ".fettle" / "demo").mkdir(parents=True)
        (clone / ".fettle" / "up.lock").symlink_to(victim / "up.lock")
    for words in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *words], cwd=clone, check=True)
    monkeypatch.chdir(clone)
    monkeypatch.delenv("FETTLE_DATA_DIR", raising=False)
    for command in ("up", "demo"):
        assert run([command]) == 1
        assert ".fettle came with this repository" in capsys.readouterr().err
    assert (victim / "up.lock").read_text() == "mine"
    assert list((victim / "redis").iterdir()) == []


def test_up_starts_no_process_if_a_setting_of_its_workers_is_invalid(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FETTLE_LEASE_SECONDS", "7")
    assert run(["up"]) == 2
    events_seen = capsys.readouterr()
    assert "FETTLE_LEASE_SECONDS is 7 and FETTLE_HEARTBEAT_SECONDS 5: " in events_seen.err
    assert events_seen.out == ""
    assert not (tmp_path / ".fettle").exists()


def test_list_prints_rows_for_a_pipe(fettle, tiny):
    listed_job = {
        "id": "j1",
        "status": "queued",
        "created_at": "2026-11-21T12:00:00Z",
        "task": "Sort\nit",
    }
    tiny.on("GET /jobs", Answer(200, {"jobs": [listed_job], "total": 1, "limit": 5, "offset": 0}))
    code, out, _ = fettle("list", "--limit", "5", "--status", "queued")
    heads, row = (line.split("\t") for line in out.splitlines())
    assert (code, heads) == (0, ["ID", "STATUS", "AGE", "TASK"])
    assert (row[0], row[1], row[3]) == ("j1", "queued", "Sort")
    query = tiny.requests[0].path.partition("?")[2].split("&")
    assert sorted(query) == ["limit=5", "offset=0", "status=queued"]


def test_list_marks_overrides_and_the_evidence_of_open_reviews(fettle, tiny):
    common = {"created_at": "2026-11-21T12:00:00Z", "task": "Sort"}
    verdict = {"level": "red", "reason": "1 test fails", "facts": [], "needs_override": True}
    jobs = [
        {"id": "j1", "status": "succeeded", "override": True, **common},
        {"id": "j2", "status": "awaiting_review", "review": {"verdict": verdict}, **common},
    ]
    tiny.on("GET /jobs", Answer(200, {"jobs": jobs, "total": 2, "limit": 5, "offset": 0}))
    _, out, _ = fettle("list", "--override")
    rows = [line.split("\t")[1] for line in out.splitlines()]
    assert rows == ["STATUS", "succeeded, override", "awaiting_review, evidence red"]
    assert "override=true" in tiny.requests[0].path


def test_list_and_show_name_the_reason_for_waiting(fettle, tiny):
    until = datetime(2099, 11, 21, 12, 3, tzinfo=UTC)
    waits = {
        "on": "groq",
        "until": until.isoformat(),
        "tries": 2,
        "why": "groq:x: busy (429)",
    }
    listed_job = {
        "id": "j1",
        "status": "queued",
        "created_at": "2026-11-21T12:00:00Z",
        "task": "Sort",
    }
    page = {"jobs": [{**listed_job, "waits": waits}], "total": 1, "limit": 20, "offset": 0}
    tiny.on("GET /jobs", Answer(200, page))
    waits_text = f"waits for groq until {until.astimezone():%Y-%m-%d %H:%M}"
    assert f"queued, {waits_text}" in fettle("list")[1]
    tiny.on("GET /jobs/j1", Answer(200, job(status="queued", waits=waits)))
    output = fettle("show", "j1")[1]
    assert f"{waits_text} (try 2 failed: groq:x: busy (429))" in output


def test_show_prints_the_job_and_saves_its_files(fettle, tiny, tmp_path):
    tiny.on("GET /jobs/j1", Answer(200, job()))
    files = [{"path": "out/plot.png", "digest": "d", "size": 3, "href": "-"}]
    links = {"latest\u202f": "out/plot.png"}
    tiny.on("GET /jobs/j1/files", Answer(200, {"files": files, "links": links, "digest": "d"}))
    tiny.on("GET /jobs/j1/files/out/plot.png", Answer(200, b"PNG"))
    code, out, _ = fettle("show", "j1", "--save", str(tmp_path / "files"))
    assert code == 0
    assert "plan: 2 steps\n    1. Write it\n    2. Test it\n" in out
    assert (tmp_path / "files" / "out" / "plot.png").read_bytes() == b"PNG"
    assert "not saved: latest\\u202f -> out/plot.png (a symbolic link)" in out


def test_bytes_that_are_not_utf8_are_refused_in_a_text_and_shown_in_a_name(finished, tmp_path):
    env = {**environment(tmp_path), "PYTHONIOENCODING": "utf-8", "FETTLE_URL": finished.url}

    def run_fettle(*args: str | bytes) -> subprocess.CompletedProcess[bytes]:
        command = [FETTLE, *args]
        return subprocess.run(
            command, check=False, input=b"Sort \xff", capture_output=True, env=env, timeout=60
        )

    for args in (("run", "-"), ("run", b"Sort \xff"), ("message", "j1", "-")):
        process = run_fettle(*args)
        assert process.returncode == 2, process.stderr
        assert b"not valid Unicode" in process.stderr
    finished.on("GET /jobs/j1/files", Answer(200, {"files": [{"path": "a"}], "digest": "d"}))
    finished.on("GET /jobs/j1/files/a", Answer(200, b"x"))
    assert rb"files\udcff/a" in run_fettle("show", "j1", "--save", f"{tmp_path}/files\udcff").stdout


@pytest.mark.parametrize("path", ["../evil.py", "/etc/evil", "link/evil.py"])
def test_no_file_is_saved_outside_the_folder(fettle, tiny, tmp_path, path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "link").symlink_to(tmp_path)
    tiny.on("GET /jobs/j1", Answer(200, job()))
    tiny.on("GET /jobs/j1/files", Answer(200, {"files": [{"path": path}], "digest": "d"}))
    tiny.on(f"GET /jobs/j1/files/{path}", Answer(200, b"x"))
    assert fettle("show", "j1", "--save", str(tmp_path / "files"))[0] == 1
    assert not list(tmp_path.rglob("evil*"))


def test_review_sends_the_decision(fettle, tiny, tmp_path):
    tiny.on("POST /jobs/j1/review", Answer(200, job(status="queued")))
    (tmp_path / "mine.py").write_text("print(1)\n")
    assert fettle("review", "j1", "approve")[1] == "decided: approve; the job is queued\n"
    fettle("review", "j1", "revise", "-m", "smaller", "--review-id", "v1")
    fettle("review", "j1", "edit", "--code", str(tmp_path / "mine.py"))
    fettle("review", "j1", "approve", "--override", "--feedback", "The test is wrong.")
    fettle("review", "j1", "withdraw")
    comments = ("--comment", "a b.py:12: see c.py:3: why?", "--comment", "a.py:-7:No\nway.")
    assert fettle("review", "j1", "revise", *comments)[0] == 0
    assert [request.body for request in tiny.requests] == [
        {"action": "approve"},
        {"action": "revise", "feedback": "smaller", "review_id": "v1"},
        {"action": "edit", "code": "print(1)\n"},
        {"action": "approve", "override": True, "feedback": "The test is wrong."},
        {"action": "withdraw"},
        {
            "action": "revise",
            "comments": [
                {"path": "a b.py", "line": 12, "side": "new", "text": "see c.py:3: why?"},
                {"path": "a.py", "line": 7, "side": "old", "text": "No\nway."},
            ],
        },
    ]


def test_edit_opens_the_editor_on_the_complete_last_program(fettle, tiny, tmp_path, monkeypatch):
    code = {"text": "head ... tail", "dropped_bytes": 0, "digest": "d", "href": "/runs/1/code"}
    command = {"text": "pytest -q", "dropped_bytes": 0, "digest": None}
    runs = [{"code": code, "tool": "python"}, {"code": command, "tool": "verify"}]
    tiny.on("GET /jobs/j1", Answer(200, job(runs=runs, review={"id": "r1"})))
    tiny.on("GET /runs/1/code", Answer(200, "x = 1\n", {"Content-Type": "text/plain"}))
    tiny.on("POST /jobs/j1/review", Answer(200, job()))
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsleep 0.01; sed -i s/1/2/ "$1"; touch -d tomorrow "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    assert fettle("review", "j1", "edit")[0] == 0
    assert tiny.requests[-1].body == {"action": "edit", "review_id": "r1", "code": "x = 2\n"}
    assert fettle("review", "j1", "edit", "--review-id", "r0")[0] == 0
    assert tiny.requests[-1].body == {"action": "edit", "review_id": "r0", "code": "x = 2\n"}
    tiny.on("GET /jobs/j1/files/src/a.py", Answer(200, "é = 1\r\nx".encode()))
    (tmp_path / "b").write_bytes(b"b\r\n")
    files = ("--file", "src/a.py", "--file", f"b.py={tmp_path / 'b'}", "--file", "c.py=")
    assert fettle("review", "j1", "edit", *files)[0] == 0
    edited = {"src/a.py": "é = 2\r\nx", "b.py": "b\r\n", "c.py": None}
    assert tiny.requests[-1].body == {"action": "edit", "review_id": "r1", "files": edited}
    assert fettle("review", "j1", "edit", "--file", "c.py=")[0] == 0
    assert tiny.requests[-1].body == {"action": "edit", "files": {"c.py": None}}


def test_an_edit_that_changes_no_text_is_not_sent(fettle, tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("VISUAL", "true")
    tiny.on("GET /jobs/j1", Answer(200, job()))
    tiny.on("GET /jobs/j1/files/a.py", Answer(200, b"x = 1"))
    (tmp_path / "binary").write_bytes(b"\xff")
    for written, message in {
        "a.py": "the editor did not change a.py",
        f"a.py={tmp_path / 'binary'}": "is not UTF-8 text",
        f"a.py={tmp_path / 'missing'}": "cannot be read: No such file",
    }.items():
        code, _, output = fettle("review", "j1", "edit", "--file", written)
        assert (code, message in output) == (2, True), output
    assert fettle("review", "j1", "approve", "--file", "a.py")[0] == 2
    assert not [request for request in tiny.requests if request.method == "POST"]


def test_cancel(fettle, tiny):
    tiny.on("POST /jobs/j1/cancel", Answer(202, job(status="cancelled")))
    assert fettle("cancel", "j1")[:2] == (0, "cancelled: j1\n")


def test_delete(fettle, tiny):
    tiny.on("DELETE /jobs/j1", Answer(204, ""))
    tiny.on("DELETE /jobs/j2", Answer(204, ""))
    assert fettle("delete", "j1", "j2")[:2] == (0, "deleted: j1\ndeleted: j2\n")
    assert json.loads(fettle("delete", "j1", "--json")[1]) == {"deleted": ["j1"]}
    assert fettle("delete", "unknown")[0] == 1


def test_drain(fettle, tiny):
    tiny.on("POST /workers/host:7:ab/drain", Answer(202, {}))
    code, events_seen, _ = fettle("drain", "host:7:ab")
    assert (code, events_seen) == (0, "asked: host:7:ab returns its jobs to the queue, and stops\n")
    code, _, error = fettle("drain", "nobody")
    assert code == 1
    assert "`fettle doctor` names the workers" in error


def test_fork(fettle, tiny):
    tiny.on("POST /jobs/j1/fork", Answer(202, job(id="j2", status="queued")))
    assert fettle("fork", "j1", "--no-wait")[:2] == (0, "submitted: j2\n")
    changes = ("--at", "2", "--model", "groq:x", "--prompt", "Use a heap.")
    fettle("fork", "j1", "--no-wait", *changes)
    bodies = [request.body for request in tiny.requests]
    assert bodies == [None, {"revision": 2, "model": "groq:x", "prompt": "Use a heap."}]


def test_compare(fettle, tiny):
    cost = {"calls": 2, "input_tokens": 1, "output_tokens": 1, "cost_usd": "0.5", "known_usd": "0"}
    verdict = {"level": "green", "reason": "Verified", "facts": [], "needs_override": False}
    outcome = {**job(), "task": "t", "model": None, "verdict": verdict, "cost": cost}
    outcome |= {"checks": {"passed": 1, "total": 2}, "ran_seconds": 61, "runs": 1}
    file = {"path": "a.py", "notes": [], "diff": "@@ -1 +1 @@\n-1\n+2\n", "unread": ""}
    difference = {"job_id": "j2", "files": [file], "problem": ""}
    compared = {"jobs": [outcome, {**outcome, "id": "j2"}], "differences": [difference]}
    tiny.on("GET /compare", Answer(200, compared))
    code, out, _ = fettle("compare", "j1", "j2")
    assert code == 0
    assert "\tj1\tj2\n" in out
    assert "verdict\tgreen: Verified\tgreen: Verified\n" in out
    assert "checks\t1 of 2 passed\t" in out
    assert "a.py\n@@ -1 +1 @@\n-1\n+2\n" in out
    assert json.loads(fettle("compare", "j1", "j2", "--json")[1]) == compared
    assert fettle("compare", "j1")[0] == 2


def test_retry(fettle, tiny):
    tiny.on("POST /jobs/j1/retry", Answer(202, job(id="j2", status="queued")))
    assert fettle("retry", "j1", "--no-wait")[:2] == (0, "submitted: j2\n")
    assert tiny.requests[-1].body is None
    fettle("retry", "j1", "--no-wait", "--max-cost-usd", "2", "--timeout", "1h", "--no-review")
    terms = {"max_cost_usd": "2", "timeout_seconds": 3_600, "review": False}
    assert tiny.requests[-1].body == terms


def test_rebase(fettle, tiny):
    new = job(id="j2", status="queued")
    tiny.on("POST /jobs/j1/rebase", Answer(202, new))
    assert fettle("rebase", "j1", "--no-wait")[:2] == (0, "submitted: j2\n")
    assert (tiny.requests[-1].body, len(tiny.requests[-1].headers["idempotency-key"])) == (None, 32)
    assert json.loads(fettle("rebase", "j1", "--no-wait", "--json")[1])["id"] == "j2"
    detail = "the job's repository was uploaded"
    tiny.on("POST /jobs/j1/rebase", problem(409, "The job is in another state", detail))
    code, _, err = fettle("rebase", "j1")
    assert (code, detail in err) == (1, True)


def test_keys(fettle, tiny):
    key = {"id": "k1", "name": "ada", "tenant": "default", "scopes": ["read"],
           "created_at": "2026-11-21T12:00:00Z", "revoked_at": None, "created_by": "operator",
           "person": "Ada Lovelace", "expires_at": "2027-01-01T00:00:00Z"}  # fmt: skip
    tiny.on("POST /keys", Answer(201, {**key, "secret": "fettle_s"}))
    tiny.on("GET /keys", Answer(200, {"keys": [key]}))
    tiny.on("DELETE /keys/k1", Answer(204, ""))
    assert "secret: fettle_s\n" in fettle("keys", "create", "ada", "--scope", "read")[1]
    assert tiny.requests[-1].body == {"name": "ada", "scopes": ["read"]}
    assert (
        "person: Ada Lovelace\n" in fettle("keys", "create", "ada", "--person", "Ada Lovelace")[1]
    )
    assert tiny.requests[-1].body["person"] == "Ada Lovelace"
    heads, row = (line.split("\t") for line in fettle("keys", "list")[1].splitlines())
    assert heads[:8] == ["ID", "NAME", "TENANT", "SCOPES", "CREATED", "REVOKED", "PER DAY", "TODAY"]
    assert heads[8:] == ["PERSON", "MADE BY", "EXPIRES", "USED"]
    assert row[:8] == ["k1", "ada", "default", "read", "2026-11-21", "-", "-", "-"]
    assert row[8:] == ["Ada Lovelace", "operator", "2027-01-01", "-"]
    fettle("keys", "create", "ada", "--scope", "read", "--expires-days", "90")
    assert tiny.requests[-1].body == {"name": "ada", "scopes": ["read"], "expires_days": 90}
    assert fettle("keys", "revoke", "k1")[:2] == (0, "revoked: k1\n")


def test_config_and_doctor_name_dropped_variables(fettle, tiny, monkeypatch):
    monkeypatch.setenv("LANGSMITH_TRACING", "yes-please")
    of_a_tenant = {"version": "1", "environment": "production", "jobs": {}, "workers": None}
    tiny.on("GET /system", Answer(200, {**of_a_tenant, "serving": True, "models": []}))
    assert "LANGSMITH_TRACING" in json.loads(fettle("config", "--json")[1])["dropped"]
    assert "LANGSMITH_TRACING" in fettle("config")[2]
    findings = json.loads(fettle("doctor", "--json")[1])["findings"]
    (finding,) = [entry for entry in findings if entry["name"] == "environment"]
    assert (finding["health"], "LANGSMITH_TRACING" in finding["text"]) == ("warn", True)
    assert "yes-please" not in "".join(fettle("config")[1:] + fettle("doctor")[1:])


@pytest.mark.parametrize("command", ["up", "flower"])
def test_in_production_a_variable_that_sends_data_is_refused(fettle, monkeypatch, command):
    monkeypatch.setenv("FETTLE_ENV", "production")
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    code, _, err = fettle(command)
    assert (code, "LANGSMITH_TRACING would have a library send" in err) == (2, True)


def test_flower_without_a_password_exits_with_the_code_for_no_restart(fettle, monkeypatch):
    monkeypatch.delenv("FETTLE_FLOWER_PASSWORD", raising=False)
    code, _, err = fettle("flower")
    assert (code, "set FETTLE_FLOWER_PASSWORD" in err) == (2, True)


def test_a_proxy_that_cannot_be_used_is_named(fettle, monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://me:hush@proxy:1080")
    fettle("list")  # a service on this machine is reached without the proxy
    code, _, err = fettle("--url", "http://fettle.example.org", "list")
    assert (code, "ALL_PROXY names a socks5 proxy" in err, "hush" in err) == (2, True, False)


@pytest.mark.parametrize(
    "url",
    ["foo", "http://", "http://[::1", "http://a:b", "ftp://a", "http://\x01", "http://xn--.com"],
)
def test_an_address_that_cannot_be_used_is_named(url, capsys):
    assert run(["--url", url, "list"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: a setting does not fit")
    assert "url" in err.lower()


@pytest.mark.parametrize("path", ["file/data", "/proc/fettle", "loop/data"])
def test_up_refuses_a_data_directory_that_cannot_be_written(path, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setenv("FETTLE_DATA_DIR", str(tmp_path / path))
    assert run(["up"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: the data directory /")
    assert "FETTLE_DATA_DIR" in err


def test_an_error_of_the_operating_system_is_a_sentence(fettle, tiny, tmp_path):
    tiny.on("GET /jobs/j1", Answer(200, job()))
    tiny.on("GET /jobs/j1/files", Answer(200, {"files": [{"path": "a/b.py"}]}))
    tiny.on("GET /jobs/j1/files/a/b.py", Answer(200, b"x"))
    (tmp_path / "a").touch()
    code, _, err = fettle("show", "j1", "--save", str(tmp_path))
    assert code == 1
    assert err.startswith(("error: File exists: ", "error: Not a directory: "))
    assert str(tmp_path / "a") in err


@pytest.mark.parametrize("key", ["pässword", "a\nb", "a\x7f"])
def test_a_key_that_is_invalid_in_a_header_is_neither_sent_nor_shown(
    key, fettle, tiny, monkeypatch
):
    monkeypatch.setenv("FETTLE_API_KEY", key)
    code, _, err = fettle("list")
    assert (code, tiny.requests) == (2, [])
    assert err.startswith("error: the key cannot be used")
    assert key not in err


def test_a_queued_job_is_shown_with_the_reason_why_it_waits(fettle, tiny):
    reason = {"reason": "no_worker", "text": "no worker is running"}
    listed_job = {
        "id": "j1",
        "status": "queued",
        "created_at": "2026-11-21T12:00:00Z",
        "task": "Sort",
    }
    tiny.on("GET /jobs", Answer(200, {"jobs": [{**listed_job, "queued": reason}], "total": 1}))
    tiny.on("GET /jobs/j1", Answer(200, job(status="queued", queued=reason, attempts=0)))
    assert "queued, no worker is running" in fettle("list")[1]
    assert "no worker is running" in fettle("show", "j1")[1]


TENANTS = {"tenants": [{"name": "default"}, {"name": "acme"}]}
LIMIT = ("tenants", "limit", "acne", "--max-tokens-per-day", "5")


def test_the_limit_of_a_known_tenant_is_set_without_confirmation(fettle, tiny):
    tiny.on("GET /tenants", Answer(200, TENANTS))
    tiny.on("PUT /tenants/acme/limits", Answer(200, {"name": "acme", "max_tokens_per_day": 5}))
    code, out, _ = fettle("tenants", "limit", "acme", "--max-tokens-per-day", "5")
    assert (code, out) == (0, "limited: acme, a day: 5 tokens\n")


def test_the_limit_of_an_unknown_tenant_needs_confirmation(fettle, tiny):
    tiny.on("GET /tenants", Answer(200, TENANTS))
    tiny.on("PUT /tenants/acne/limits", Answer(200, {"name": "acne", "max_tokens_per_day": 5}))
    for more in ((), ("--json",)):
        code, out, err = fettle(*LIMIT, *more)
        assert (code, out) == (1, "")
        assert "no tenant acne has a key or limits" in err
        assert "did you mean acme?" in err
        assert "--yes" in err
    assert "PUT" not in {request.method for request in tiny.requests}
    assert fettle(*LIMIT, "--yes")[:2] == (0, "limited: acne, a day: 5 tokens\n")


@pytest.mark.parametrize(("typed", "calls"), [("y\n", 1), ("\n", 0), ("n\n", 0)])
def test_a_person_at_a_terminal_is_asked_about_an_unknown_tenant(tiny, tmp_path, typed, calls):
    tiny.on("GET /tenants", Answer(200, TENANTS))
    tiny.on("PUT /tenants/acne/limits", Answer(200, {"name": "acne", "max_tokens_per_day": 5}))
    env = environment(tmp_path, FETTLE_URL=tiny.url)
    with started(*LIMIT, cwd=tmp_path, env=env, terminal=True) as command:
        command.wait_for("did you mean acme? Limit it all the same? [y/N]")
        command.type(typed)
        assert command.end(20) == 1 - calls
    assert [request.method for request in tiny.requests].count("PUT") == calls


def test_a_refused_tenant_is_answered_with_the_list_of_tenants(fettle, tiny):
    tiny.on("GET /tenants", Answer(200, TENANTS))
    code, _, error = fettle(*LIMIT, "--yes")  # the service has no such tenant
    assert code == 1
    assert "`fettle tenants list` shows the tenants" in error


def test_config_prints_each_value_and_its_source(fettle, monkeypatch, tmp_path):
    (tmp_path / "fettle.toml").write_text("concurrency = 7\n")
    monkeypatch.setenv("FETTLE_CONFIG", str(tmp_path / "fettle.toml"))
    monkeypatch.setenv("FETTLE_LEASE_SECONDS", "30")
    monkeypatch.setenv("GROQ_API_KEY", "gsk_secret")
    monkeypatch.setenv("FETTLE_REDIS_URL", "redis://me:hush@db:6379/0")
    code, out, _ = fettle("config", "--json")
    events_seen = {row["name"]: (row["value"], row["from"]) for row in json.loads(out)["settings"]}
    assert code == 0
    assert events_seen["FETTLE_CONCURRENCY"] == ("7", "fettle.toml")
    assert events_seen["FETTLE_LEASE_SECONDS"] == ("30.0", "environment")
    assert events_seen["FETTLE_PORT"] == ("8000", "default")
    assert events_seen["FETTLE_URL"][1] == "flag"
    assert events_seen["GROQ_API_KEY"] == ("********", "environment")
    assert events_seen["FETTLE_REDIS_URL"] == ("redis://me:********@db:6379/0", "environment")
    assert "gsk_secret" not in out


FLEET = {
    "version": 4,
    "settings": [
        {"name": "retention_days", "value": 30.0, "default": 30.0, "description": "how long"},
        {"name": "retries", "value": 12.0, "default": 12.0, "description": "how often"},
    ],
    "changes": [
        {"version": 4, "at": "2026-11-26T12:00:00.000Z", "by": "ann", "key_id": "k",
         "values": {"retries": 12.0}},
    ],
}  # fmt: skip
REMOVES = problem(409, "Finished jobs would be removed", type="/problems/removes-jobs", limit=1200)


def test_the_rules_of_the_fleet_are_shown_with_their_last_change(fettle, tiny):
    tiny.on("GET /fleet", Answer(200, FLEET))
    code, out, _ = fettle("fleet", "settings")
    assert code == 0
    assert "retention_days\t30\t30\thow long\n" in out
    assert "2026-11-26T12:00:00.000Z by ann: retries=12" in out
    assert json.loads(fettle("fleet", "settings", "--json")[1]) == FLEET


def test_a_rule_is_changed_from_the_version_that_was_read(fettle, tiny):
    tiny.on("GET /fleet", Answer(200, FLEET))
    tiny.on("PUT /fleet", Answer(200, FLEET))
    code, _, _ = fettle("fleet", "set", "retries=40", "FETTLE_RETRY_SECONDS=2.5")
    assert code == 0
    values = {"retries": 40, "retry_seconds": 2.5}
    assert tiny.requests[-1].body == {"version": 4, "settings": values, "accept_removal": 0}


@pytest.mark.parametrize(
    ("more", "words", "sent"),
    [(["--yes"], "", [0, 1200]), ([], "y\n", [0, 1200]), ([], "n\n", [0])],
)
def test_a_retention_that_removes_jobs_names_their_number(
    fettle, tiny, monkeypatch, more, words, sent
):
    tiny.on("GET /fleet", Answer(200, FLEET))
    tiny.on("PUT /fleet", REMOVES, Answer(200, FLEET))
    monkeypatch.setattr("sys.stdin", io.StringIO(words))
    code, _, err = fettle("fleet", "set", "retention_days=7", *more)
    assert ("1200 finished jobs" in err) == (not more)
    puts = [request.body["accept_removal"] for request in tiny.requests if request.method == "PUT"]
    assert puts == sent
    assert (code == 0) == (sent == [0, 1200])


def test_the_defaults_for_new_jobs_are_shown_and_changed(fettle, tiny):
    fleet = {**FLEET, "defaults": {"critic_model": ["groq:a", "groq:b"], "review": True}}
    tiny.on("GET /fleet", Answer(200, fleet))
    tiny.on("PUT /fleet", Answer(200, fleet))
    code, out, _ = fettle("fleet", "defaults")
    assert (code, [request.method for request in tiny.requests]) == (0, ["GET"])
    assert "critic_model\tgroq:a, groq:b\nreview\ttrue\n" in out
    pairs = ("critic_model=groq:a,groq:b", "review=true", "timeout_seconds=30m", "labels=")
    code, out, _ = fettle("fleet", "defaults", *pairs, "--json")
    assert (code, json.loads(out)) == (0, fleet["defaults"])
    chain = {"critic_model": ["groq:a", "groq:b"], "review": True}
    defaults = {**chain, "timeout_seconds": 1_800, "labels": None}
    assert tiny.requests[-1].body == {"version": 4, "defaults": defaults}


@pytest.mark.parametrize(
    ("pair", "text"),
    [
        ("review", "NAME=VALUE"),
        ("critic=groq:a", "use model, timeout_seconds"),
        ("approvals=many", "approvals: "),
    ],
)
def test_a_default_that_no_job_has_is_bad_usage(fettle, tiny, pair, text):
    code, _, err = fettle("fleet", "defaults", pair)
    assert (code, tiny.requests, text in err) == (2, [], True)


REVIEW_RULES = {
    "rules": [{"name": "pay", "source": "file", "sentence": "Each job needs 1 approval."}],
    "file": "/etc/review.toml",
    "text": "# none yet\n",
    "digest": "d1",
}


def test_review_rules_are_shown_and_changed(fettle, tiny, tmp_path):
    tiny.on("GET /review-rules", Answer(200, REVIEW_RULES))
    tiny.on("PUT /review-rules", Answer(200, REVIEW_RULES))
    code, out, _ = fettle("review-rules", "show")
    assert (code, "pay\tfile\tEach job needs 1 approval.\n" in out) == (0, True)
    assert fettle("review-rules", "show", "--text")[1] == REVIEW_RULES["text"]
    (tmp_path / "rules.toml").write_text("[[rule]]\n")
    for more, dry_run in (([], False), (["--dry-run"], True)):
        code, out, _ = fettle("review-rules", "set", str(tmp_path / "rules.toml"), *more)
        assert (code, "Each job needs" in out) == (0, True)
        sent = {"text": "[[rule]]\n", "digest": "d1", "dry_run": dry_run}
        assert tiny.requests[-1].body == sent
    (tmp_path / "rules.toml").write_bytes(b"\xff")
    code, _, err = fettle("review-rules", "set", str(tmp_path / "rules.toml"))
    assert (code, "rules.toml is not a UTF-8 text" in err) == (2, True)


def test_a_review_is_claimed_assigned_and_released(fettle, tiny):
    tiny.on("POST /jobs/j1/review/claim", Answer(200, {"id": "j1", "status": "awaiting_review"}))
    for more, assignee in (((), "me"), (("--assign", "Ada"), "Ada"), (("--release",), "")):
        code, _, err = fettle("claim", "j1", *more)
        assert (code, tiny.requests[-1].body) == (0, {"assignee": assignee}), err
    assert json.loads(fettle("claim", "j1", "--json")[1])["id"] == "j1"


@pytest.mark.parametrize(
    ("status", "reader"), [("running", "before their next calls"), ("awaiting_review", "next pass")]
)
def test_a_message_is_sent(fettle, tiny, monkeypatch, status, reader):
    tiny.on("POST /jobs/j1/messages", Answer(202, {"id": "j1", "status": status}))
    code, out, err = fettle("message", "j1", "Also sort")
    assert (code, reader in out) == (0, True), err
    assert tiny.requests[-1].body == {"text": "Also sort"}
    monkeypatch.setattr("sys.stdin", io.StringIO("From a file"))
    assert json.loads(fettle("message", "j1", "-", "--json")[1])["status"] == status
    assert tiny.requests[-1].body == {"text": "From a file"}
    assert fettle("message", "j1", "  ")[0] == 2


def test_webhooks_of_a_tenant_are_added_shown_and_deleted(fettle, tiny):
    webhook = {"id": "w1", "address": "https://a.org", "format": "slack", "labels": ["pay"]}
    webhook |= {"events": [], "secret": "whsec_1"}
    tiny.on("POST /tenants/acme/webhooks", Answer(201, webhook))
    tiny.on("GET /tenants/acme/webhooks", Answer(200, {"webhooks": [{**webhook, "secret": None}]}))
    tiny.on("DELETE /tenants/acme/webhooks/w1", Answer(204, ""))
    options = ("--format", "slack", "--label", "pay", "--event", "job.finished")
    code, out, _ = fettle("webhooks", "add", "acme", "https://a.org/x", *options)
    assert (code, "w1" in out, "whsec_1" in out) == (0, True, True)
    assert tiny.requests[-1].body == {
        "url": "https://a.org/x",
        "format": "slack",
        "labels": ["pay"],
        "events": ["job.finished"],
    }
    code, out, _ = fettle("webhooks", "show", "acme")
    assert (code, "w1\thttps://a.org\tslack\tpay\tall\n" in out) == (0, True)
    assert fettle("webhooks", "delete", "acme", "w1")[0] == 0
    assert tiny.requests[-1].method == "DELETE"


@pytest.mark.parametrize("pair", ["retention_days", "=3", "retries=many", "retries=nan"])
def test_a_rule_without_a_number_is_bad_usage(fettle, tiny, pair):
    code, _, err = fettle("fleet", "set", pair)
    assert (code, tiny.requests) == (2, [])
    assert "NAME=NUMBER" in err
