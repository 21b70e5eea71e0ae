"""`fettle run --repo`, `fettle patch` and `fettle apply`, in real repositories."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.servers.tiny_service import Answer, event, job, problem, stream

from cli.main import run
from jobs.blobs.directory import digest_bytes

WHO = {
    f"GIT_{role}_{part}": f"{part.lower()}@example.org"
    for role in ("AUTHOR", "COMMITTER")
    for part in ("NAME", "EMAIL")
}
OWN = {**os.environ, **WHO, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
TEN = "".join(f"line {number}\n" for number in range(1, 11))


class Repository:
    """A repository of a user: its files, its commits, and a digest of its full state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str, stdin: bytes | None = None) -> str:
        result = subprocess.run(
            ["git", *words], cwd=self.folder, env=OWN, input=stdin, capture_output=True, check=True
        )
        return result.stdout.decode().strip()

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)

    def commit(self, files: Mapping[str, str]) -> str:
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", "a commit")
        return self.git("rev-parse", "HEAD")

    def state(self) -> str:
        """A digest of all files of the work tree and of .git, without the times in the index."""
        index = self.folder / ".git" / "index"
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        digests = [f"{path} {digest_bytes(path.read_bytes())}" for path in files if path != index]
        return "\n".join(
            [self.git("ls-files", "--stage"), self.git("status", "--porcelain"), *digests]
        )


@pytest.fixture
def theirs(tmp_path) -> Repository:
    repository = Repository(tmp_path / "theirs")
    repository.commit({"a.py": "A = 1\n", "old.txt": TEN, ".gitignore": "*.log\n"})
    repository.git("tag", "-a", "v1.0", "-m", "the first")
    repository.commit({"pkg/b.py": "B = 1\n"})
    return repository


@pytest.fixture
def sent(fettle, finished, tiny, tmp_path):
    """Run a job on a repository. Returns a clone of the sent bundle, and the sent request body."""

    def run_it(*words: str) -> tuple[Repository, Mapping]:
        code, _, err = fettle("run", "fix it", *words)
        assert code == 0, err
        body = next(request.body for request in tiny.requests if request.path == "/jobs")
        (tmp_path / "sent.bundle").write_bytes(body.pop("bundle"))
        clone = Repository(tmp_path / "clone")
        clone.git("fetch", "--quiet", "--tags", str(tmp_path / "sent.bundle"), "HEAD")
        clone.git("checkout", "--quiet", "--detach", "FETCH_HEAD")
        return clone, body

    return run_it


def test_a_change_is_delivered_only_to_a_url(fettle, finished, tiny, theirs):
    url = "https://git.example.org/team/app.git"
    assert fettle("run", "x", "--repo", url, "--pull-request")[0] == 0
    assert fettle("run", "x", "--repo", url, "--branch")[0] == 0
    sent = [request.body["deliver"] for request in tiny.requests if request.path == "/jobs"]
    assert sent == [
        {"branch": True, "pull_request": is_requested} for is_requested in (True, False)
    ]
    for option in ("--branch", "--pull-request"):
        code, _, err = fettle("run", "x", "--repo", str(theirs.folder), option)
        assert (code, f"{option} needs --repo URL" in err) == (2, True)


def test_a_follow_up_sends_only_what_differs_from_its_conversation(fettle, finished, tiny, theirs):
    follow_up = ("run", "x", "--conversation", "c1")
    options = [
        (),
        ("--no-branch",),
        ("--pull-request",),
        ("--ref", "v1"),
        ("--repo", str(theirs.folder)),
    ]
    for words in options:
        assert fettle(*follow_up, *words)[0] == 0
    sent = [request.body for request in tiny.requests if request.path == "/jobs"]
    assert isinstance(sent[-1].pop("bundle"), bytes)
    plain = {"task": "x", "conversation_id": "c1"}
    assert sent == [
        plain,
        {**plain, "deliver": None},
        {**plain, "deliver": {"branch": True, "pull_request": True}},
        {**plain, "repo": {"ref": "v1"}},
        plain,
    ]
    code, _, err = fettle(*follow_up, "--pull-request", "--no-branch")
    assert (code, "leave out --no-branch" in err) == (2, True)


def test_show_names_the_job_and_the_branch_that_a_follow_up_goes_on_from(fettle, tiny):
    start = {"job_id": "j0", "branch": "fettle/j0", "target": "c" * 40, "merged": False}
    tiny.on("GET /jobs/j1", Answer(200, job(continues={**start, "conflicts": []})))
    assert "goes on from: j0, on the branch fettle/j0\n" in fettle("show", "j1")[1]


def test_the_destination_of_a_delivered_change_is_shown(fettle, tiny):
    done = {"branch": "fettle/j1", "commit": "c" * 40, "base": "main", "base_moved": True}
    done |= {"pull_request": "https://git.example.org/team/app/pull/7", "note": "main has moved"}
    result = {**job()["result"], "delivery": done}
    spec = {**job()["spec"], "deliver": {"branch": True, "pull_request": True}}
    tiny.on("GET /jobs/j1", Answer(200, job(result=result, spec=spec)))
    out = fettle("show", "j1")[1]
    assert "a branch and a pull request, once it is approved" in out
    for expected in ("fettle/j1, at cccccccccccc", done["pull_request"], "main has moved"):
        assert expected in out
    failed = {"status": "failed", "reason": "delivery", "detail": "declined", "result": result}
    tiny.on("GET /jobs/j1", Answer(200, job(**failed)))
    assert "approved, not delivered" in fettle("show", "j1")[1]


def test_a_directory_is_sent_with_its_history_and_tags(sent, theirs):
    before = theirs.state()
    clone, body = sent("--repo", str(theirs.folder / "pkg"))
    assert body == {"task": "fix it"}
    assert clone.git("rev-parse", "HEAD") == theirs.git("rev-parse", "HEAD")
    assert clone.git("describe") == theirs.git("describe")
    assert clone.git("log", "--oneline") == theirs.git("log", "--oneline")
    assert theirs.state() == before


def test_a_foreign_repository_runs_no_program(fettle, finished, theirs, tmp_path):
    theirs.write({"a.py": "A = 2\n"})
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "pre-commit"):
        (hooks / name).symlink_to(program)
    theirs.git("config", "core.fsmonitor", str(program))
    theirs.git("config", "core.hooksPath", str(hooks))
    theirs.git("config", "diff.external", str(program))
    for words in ([], ["--dirty"]):
        assert fettle("run", "x", "--repo", str(theirs.folder), *words)[0] == 0
    assert not (tmp_path / "ran").exists()


def test_the_key_is_not_sent_to_a_service_that_a_repository_names(tiny, theirs, monkeypatch):
    """The files of a clone may come from a stranger: `fettle run --repo .` reads no settings from
    them.
    """
    monkeypatch.delenv("FETTLE_CONFIG")
    monkeypatch.setenv("FETTLE_API_KEY", "mine")
    text = f'url = "{tiny.url}"\nredis_url = "redis://{tiny.url.removeprefix("http://")}/0"\n'
    theirs.write({"fettle.toml": text, ".env": f"FETTLE_URL={tiny.url}\n"})
    monkeypatch.chdir(theirs.folder)
    for words in (["run", "fix it", "--repo", "."], ["list"], ["doctor"], ["config"]):
        run(words)  # the default address may be the service of another user
    assert tiny.requests == []


def test_uncommitted_changes_are_left_out_with_a_notice(fettle, finished, theirs):
    theirs.write({"a.py": "A = 2\n", "new.py": "", "noise.log": ""})
    before = theirs.state()
    notice = "left out: 2 files with changes not committed; --dirty sends them"
    assert notice in fettle("run", "x", "--repo", str(theirs.folder))[2]
    assert theirs.state() == before
    assert "left out" not in fettle("run", "x", "--repo", str(theirs.folder), "--dirty")[2]
    theirs.commit({})
    assert "left out" not in fettle("run", "x", "--repo", str(theirs.folder))[2]


def test_uncommitted_changes_are_sent_as_a_separate_commit(sent, theirs, monkeypatch):
    theirs.write({"a.py": "A = 2\n", "new.py": "N = 1\n", "noise.log": "x"})
    theirs.write({"staged.py": "S = 1\n"})
    theirs.git("add", "staged.py")
    (theirs.folder / "old.txt").unlink()
    before, head = theirs.state(), theirs.git("rev-parse", "HEAD")
    monkeypatch.chdir(theirs.folder / "pkg")
    monkeypatch.setenv("GIT_DIR", "/of/another/repository")
    clone, _ = sent("--repo", ".", "--dirty")
    monkeypatch.delenv("GIT_DIR")
    assert theirs.state() == before
    assert clone.git("rev-parse", "HEAD^") == head
    assert sorted(clone.git("ls-files").split()) == [
        ".gitignore", "a.py", "new.py", "pkg/b.py", "staged.py",
    ]  # fmt: skip
    assert clone.git("show", "HEAD:a.py") == "A = 2"
    assert clone.git("describe").startswith("v1.0-2-g")


def test_nested_repositories_are_left_out_by_name(fettle, finished, sent, theirs):
    for name in ("nested", "deep/we[ird\u202f", "empty", "ignored.log"):
        nested = Repository(theirs.folder / name)
        if name != "empty":
            nested.commit({"inner.py": "I = 1\n"})
    theirs.write({"deep/plain.py": "P = 1\n", "Screenshot\u202fPM.txt": "s\n"})
    before = theirs.state()
    clone, _ = sent("--repo", str(theirs.folder / "pkg"), "--dirty")
    assert theirs.state() == before
    files = clone.git("ls-files", "-z", "--stage").split("\0")
    assert not [row for row in files if row.startswith("160000")]
    paths = {row.partition("\t")[2] for row in files}
    assert {"deep/plain.py", "Screenshot\u202fPM.txt"} <= paths
    assert not [path for path in paths if path.endswith("inner.py")]
    stderr = fettle("run", "x", "--repo", str(theirs.folder), "--dirty")[2]
    left_out = re.findall(r"^left out: (.*) \(a nested repository", stderr, re.MULTILINE)
    assert left_out == ["deep/we[ird\\u202f", "empty", "nested"]


def test_changes_in_submodules_are_left_out_by_name(fettle, finished, sent, theirs, tmp_path):
    inner = Repository(tmp_path / "inner")
    inner.commit({"inner.py": "I = 1\n"})
    for name in ("changed\u202f", "extended", "moved", "same"):
        allowed = ("-c", "protocol.file.allow=always")
        theirs.git(*allowed, "submodule", "--quiet", "add", str(inner.folder), name)
    theirs.commit({})
    theirs.write({"changed\u202f/inner.py": "I = 2\n", "extended/new.py": "N = 1\n"})
    plain = fettle("run", "x", "--repo", str(theirs.folder))[2]
    assert "left out" not in plain
    Repository(theirs.folder / "moved").commit({"inner.py": "I = 3\n"})
    stderr = fettle("run", "x", "--repo", str(theirs.folder), "--dirty")[2]
    left_out = re.findall(r"^left out: the changes in (.*) \(a submodule", stderr, re.MULTILINE)
    assert left_out == ["changed\\u202f", "extended"]


def test_a_clean_repository_has_no_extra_commit(sent, theirs):
    clone, _ = sent("--repo", str(theirs.folder), "--dirty")
    assert clone.git("rev-parse", "HEAD") == theirs.git("rev-parse", "HEAD")


def test_the_named_ref_of_a_directory_is_sent(sent, theirs):
    clone, body = sent("--repo", str(theirs.folder), "--ref", "v1.0")
    assert "repo" not in body
    assert clone.git("rev-parse", "HEAD") == theirs.git("rev-parse", "v1.0^{commit}")


def test_a_bare_repository_is_a_repository(sent, theirs, tmp_path):
    theirs.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    clone, _ = sent("--repo", str(tmp_path / "bare.git"))
    assert clone.git("describe") == theirs.git("describe")


def test_a_worktree_is_a_repository(sent, theirs, tmp_path):
    theirs.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side" / "new.py").write_text("N = 1\n")
    clone, _ = sent("--repo", str(tmp_path / "side"), "--dirty")
    assert "new.py" in clone.git("ls-files")


@pytest.mark.parametrize(
    "url", ["https://git.test/a.git", "ssh://git@git.test:22/a.git", "git@git.test:team/a.git"]
)
def test_a_url_is_named_and_not_fetched(fettle, finished, tiny, url):
    assert fettle("run", "x", "--repo", url, "--ref", "main")[0] == 0
    repo = {"url": url, "ref": "main"}
    assert tiny.requests[0].body == {"task": "x", "repo": repo}


def test_skipped_dependencies_are_shown(fettle, tiny):
    started = event(1, "started", attempt=1, worker="w")
    left_out = event(2, "setup_left_out", command="npm ci")
    planned = event(3, "planned", steps=["a"], source="model", note=None)
    spec = {"task": "x", "repo": {"url": "https://git.test/a", "ref": None}, "setup": None}
    tiny.on("GET /jobs/j1", Answer(200, job(spec=spec, last_event=3, status="running")))
    notice = (
        "setup: this project's dependencies are not installed: "
        "the operator has named no hosts (FETTLE_SETUP_HOSTS)\n"
    )
    for events, is_visible in ((left_out, True), ("", False)):
        tiny.on("GET /jobs/j1/events", stream(started, events, planned))
        assert (notice in fettle("show", "j1")[1]) == is_visible
    done = event(4, "succeeded", approved_by="critic")
    tiny.on("POST /jobs", Answer(202, job(status="queued")))
    tiny.on("GET /jobs/j1/events", stream(started, left_out, planned, done))
    assert fettle("run", "x")[1].count(notice) == 1


def test_missing_files_are_shown(fettle, tiny):
    text = "2 files are pointers of Git LFS, whose content is not here: a.png, b.png"
    missing = event(1, "files_missing", missing=[text])
    planned = event(2, "planned", steps=["a"], source="model", note=None)
    spec = {"task": "x", "repo": {"url": "https://git.test/a", "ref": None}, "setup": "make"}
    tiny.on("GET /jobs/j1", Answer(200, job(spec=spec, last_event=2, status="running")))
    tiny.on("GET /jobs/j1/events", stream(missing, planned))
    assert f"repository: {text}\n" in fettle("show", "j1")[1]


def test_setup_takes_a_command_or_none(fettle, finished, tiny):
    url = ("--repo", "https://git.test/a.git")
    for options in (("--setup", "make deps"), ("--setup", ""), ("--no-setup",), ()):
        assert fettle("run", "x", *url, *options)[0] == 0
    bodies = [request.body for request in tiny.requests if request.path == "/jobs"]
    assert [body.get("setup") for body in bodies] == ["make deps", "", "", None]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ref", "main"], "--ref needs a repository"),
        (["--dirty"], "--dirty needs a repository"),
        (["--repo", "https://git.test/a", "--dirty"], "--dirty needs a directory"),
        (["--repo", "git@git.test:team/a.git", "--dirty"], "--dirty needs a directory"),
        (["--repo", "/nowhere"], "neither a URL nor a directory"),
        (["--repo", ".", "--ref", "v9"], "no commit 'v9'"),
        (["--repo", ".", "--ref", "main", "--dirty"], "leave out --ref"),
    ],
)
def test_a_wrong_repository_is_refused_before_the_request(
    fettle, tiny, theirs, monkeypatch, words, message
):
    monkeypatch.chdir(theirs.folder)
    code, _, err = fettle("run", "x", *words)
    assert (code in (1, 2), tiny.requests) == (True, [])
    assert message in err


def test_a_repository_that_cannot_be_bundled_is_reported(fettle, tiny, theirs, tmp_path):
    empty = Repository(tmp_path / "empty")
    assert "no commit yet" in fettle("run", "x", "--repo", str(empty.folder))[2]
    (tmp_path / "plain").mkdir()
    assert "in no git repository" in fettle("run", "x", "--repo", str(tmp_path / "plain"))[2]
    shallow = tmp_path / "shallow"
    theirs.git("clone", "--quiet", "--depth=1", f"file://{theirs.folder}", str(shallow))
    assert "git fetch --unshallow" in fettle("run", "x", "--repo", str(shallow))[2]
    theirs.git("switch", "--quiet", "-c", "other", "HEAD^")
    theirs.commit({"pkg/b.py": "B = 2\n"})
    with pytest.raises(subprocess.CalledProcessError):
        theirs.git("merge", "main")
    assert "unmerged files" in fettle("run", "x", "--repo", str(theirs.folder), "--dirty")[2]
    assert tiny.requests == []


def test_a_repository_that_is_too_large_is_reported_before_it_is_sent(fettle, tiny, theirs):
    (theirs.folder / "large.bin").write_bytes(os.urandom(12 << 20))
    theirs.commit({})
    tiny.on("GET /system", Answer(200, {"limits": {"max_files_bytes": 11 << 20}}))
    code, _, err = fettle("run", "x", "--repo", str(theirs.folder))
    assert code == 1
    assert "FETTLE_MAX_FILES_BYTES" in err
    assert "--repo URL" in err


class Patched:
    """A job with a patch that was made in a clone of the user's repository."""

    def __init__(self, tiny, theirs: Repository, tmp_path: Path) -> None:
        self._tiny = tiny
        self._copy = Repository(tmp_path / "copy")
        self._copy.git("fetch", "--quiet", str(theirs.folder), "HEAD")
        self._copy.git("checkout", "--quiet", "--detach", "FETCH_HEAD")
        self.base = self._copy.git("rev-parse", "HEAD")

    def to(self, files: Mapping[str, str], *gone: str, **shown: object) -> bytes:
        """The patch to these files, as the small service's job has it."""
        self._copy.write(files)
        for path in gone:
            (self._copy.folder / path).unlink()
        self._copy.git("add", "--all")
        arguments = ["git", "diff", "--cached", "--binary", "--full-index", "--find-renames"]
        patch = subprocess.check_output(arguments, cwd=self._copy.folder, env=OWN)
        about = {"digest": "0" * 64, "size": len(patch), "base": self.base}
        about |= {"files": 3, "insertions": 2, "deletions": 1}
        result = {**job()["result"], "patch": about, "bundle": None}
        self._tiny.on("GET /jobs/j1", Answer(200, job(**{"result": result, **shown})))
        self._tiny.on("GET /jobs/j1/patch", Answer(200, patch))
        return patch


@pytest.fixture
def patched(tiny, theirs, tmp_path, monkeypatch) -> Patched:
    monkeypatch.chdir(theirs.folder)
    return Patched(tiny, theirs, tmp_path)


def test_a_patch_is_written_byte_for_byte(patched, tiny, tmp_path, capfdbinary):
    patch = patched.to({"a.py": "A = 'ü'\r\n"})
    assert run(["--url", tiny.url, "patch", "j1", "-o", str(tmp_path / "x.patch")]) == 0
    assert (tmp_path / "x.patch").read_bytes() == patch
    assert run(["--url", tiny.url, "patch", "j1"]) == 0
    assert capfdbinary.readouterr().out == patch


def test_a_terminal_shows_all_of_a_patch_and_executes_no_control_sequence(
    patched, tiny, tmp_path, monkeypatch
):
    hostile = "x = 1  # \u202e\x1b[1A\x1b[2K\x1b]0;t\x07\r\n" + "y" * 200 + "\n"
    patch = patched.to({"a.py": hostile})
    reading, writing = os.openpty()
    with os.fdopen(writing, "w") as terminal:
        monkeypatch.setattr("sys.stdout", terminal)
        monkeypatch.setenv("TERM", "xterm")
        assert run(["--url", tiny.url, "patch", "j1"]) == 0
        assert run(["--url", tiny.url, "patch", "j1", "-o", str(tmp_path / "x.patch")]) == 0
    output = os.read(reading, 65536).decode()
    os.close(reading)
    assert "\x1b[32m+x = 1  # \\u202e\\x1b[1A\\x1b[2K\\x1b]0;t\\x07\\x0d\x1b[0m\r\n" in output
    assert f"\x1b[32m+{'y' * 200}\x1b[0m\r\n" in output
    assert "\x1b[31m-A = 1\x1b[0m\r\n" in output
    assert (tmp_path / "x.patch").read_bytes() == patch


def test_forced_colours_do_not_change_the_bytes_of_a_patch(patched, tiny, monkeypatch, capfdbinary):
    monkeypatch.setenv("FORCE_COLOR", "1")
    patch = patched.to({"a.py": "A = '\u202e'\r\n"})
    assert run(["--url", tiny.url, "patch", "j1"]) == 0
    assert capfdbinary.readouterr().out == patch


def test_a_job_without_a_patch_names_the_reason(fettle, tiny, theirs, monkeypatch):
    monkeypatch.chdir(theirs.folder)
    tiny.on("GET /jobs/j1", Answer(200, job()))
    tiny.on("GET /jobs/j1/patch", problem(404, "Not found", "the job is not on a repository"))
    code, _, err = fettle("patch", "j1")
    assert (code, "not on a repository" in err) == (1, True)
    code, _, err = fettle("apply", "j1")
    assert (code, "`fettle patch j1 | git apply`" in err) == (1, True)


def test_a_patch_is_applied_to_files_and_index(fettle, patched, theirs, monkeypatch):
    patched.to({"a.py": "A = 2\n", "new/c.py": "C = 1\n", "b.bin": "\0\x01"}, "old.txt")
    monkeypatch.chdir(theirs.folder / "pkg")
    os.utime(theirs.folder / "a.py", (1, 1))  # rewritten without a change of its content
    code, out, err = fettle("apply", "j1")
    assert (code, err) == (0, "")
    assert "applied: 3 files, +2 -1 lines, to work tree and index\n" in out
    assert theirs.git("status", "--porcelain").splitlines() == [
        "M  a.py", "A  b.bin", "A  new/c.py", "D  old.txt",
    ]  # fmt: skip
    assert (theirs.folder / "a.py").read_text() == "A = 2\n"


def test_a_patch_is_merged_with_later_commits(fettle, patched, theirs):
    patched.to({"old.txt": TEN.replace("line 10", "line ten")})
    theirs.commit({"old.txt": TEN.replace("line 1\n", "line one\nline one and a half\n")})
    assert fettle("apply", "j1")[0] == 0
    text = (theirs.folder / "old.txt").read_text()
    assert ("line one and a half" in text, "line ten" in text) == (True, True)


def refused(fettle, theirs) -> str:
    before = theirs.state()
    code, _, err = fettle("apply", "j1")
    assert code == 1
    assert "not applied, and nothing is changed" in err
    assert theirs.state() == before
    return err


def test_a_conflict_changes_no_file_and_names_the_remedy(fettle, patched, theirs):
    patched.to({"a.py": "A = 2\n", "old.txt": "other\n"})
    theirs.commit({"a.py": "A = 3\n"})
    err = refused(fettle, theirs)
    assert "a.py: it conflicts with your version" in err
    assert f"git switch -c NAME {patched.base[:12]}" in err


def test_an_index_with_changes_is_not_modified(fettle, patched, theirs):
    patched.to({"a.py": "A = 2\n"})
    theirs.write({"pkg/b.py": "B = 2\n"})
    theirs.git("add", "pkg/b.py")
    assert "git stash" in refused(fettle, theirs)


def test_uncommitted_changes_are_not_overwritten(fettle, patched, theirs):
    patched.to({"a.py": "A = 2\n"})
    theirs.write({"a.py": "A = 1  # mine\n"})
    err = refused(fettle, theirs)
    assert "changed\n       a.py has changes that are not committed\n" in err
    assert "git stash" in err


def test_a_new_file_does_not_replace_an_untracked_file(fettle, patched, theirs):
    patched.to({"new.py": "N = 1\n", "a.py": "A = 2\n"})
    theirs.write({"new.py": "mine\n"})
    err = refused(fettle, theirs)
    assert "changed\n       new.py is here, and git does not track it\n" in err
    assert "git stash -u" in err


def test_a_file_that_was_removed_since_is_named(fettle, patched, theirs):
    patched.to({"old.txt": TEN.replace("line 10", "line ten")})
    (theirs.folder / "old.txt").unlink()
    theirs.commit({})
    err = refused(fettle, theirs)
    assert "changed\n       old.txt is not in your repository any more\n" in err
    assert f"git switch -c NAME {patched.base[:12]}" in err


def test_other_changes_do_not_prevent_the_patch(fettle, patched, theirs):
    patched.to({"a.py": "A = 2\n"})
    theirs.write({"pkg/b.py": "B = 2\n", "mine.txt": "x"})
    assert fettle("apply", "j1")[0] == 0
    assert (theirs.folder / "pkg" / "b.py").read_text() == "B = 2\n"


def test_the_patch_of_a_dirty_job_fits_the_files_that_it_started_from(fettle, patched, theirs):
    patched._copy.commit({"a.py": "A = 1\nB = 1\n"})
    patched.to({"a.py": "A = 1\nB = 2\n"})
    theirs.write({"a.py": "A = 1\nB = 1\n"})
    code, out, _ = fettle("apply", "j1")
    assert code == 0
    assert "to work tree\n" in out
    assert (theirs.folder / "a.py").read_text() == "A = 1\nB = 2\n"
    assert theirs.git("diff", "--cached") == ""


@pytest.mark.parametrize("removed_paths", [(), ("old.txt",)])
def test_an_applied_patch_is_not_applied_again(fettle, patched, theirs, removed_paths):
    patched.to({"a.py": "A = 2\n", "new.py": "N = 1\n"}, *removed_paths)
    assert fettle("apply", "j1")[0] == 0
    theirs.git("commit", "--quiet", "-m", "applied")
    before = theirs.state()
    code, _, err = fettle("apply", "j1")
    assert (code, theirs.state()) == (1, before)
    assert "the patch is already applied" in err


def test_a_missing_commit_is_named(fettle, patched, theirs):
    patched.base = "c0ffee" + "0" * 34
    patched.to({"a.py": "A = 2\n"})
    theirs.commit({"a.py": "A = 3\n"})
    assert (
        "this repository lacks the commit c0ffee000000, from which the job started: git fetch"
        in refused(fettle, theirs)
    )


def test_outside_of_a_repository_apply_changes_no_file(fettle, patched, tmp_path, monkeypatch):
    patched.to({"a.py": "A = 2\n"})
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    code, _, err = fettle("apply", "j1")
    assert code == 1
    assert "in no git repository" in err


def test_an_unapproved_patch_is_applied_with_a_warning(fettle, patched):
    patched.to({"a.py": "A = 2\n"}, status="failed", reason="unapproved", unapproved=True)
    code, out, _ = fettle("apply", "j1")
    assert code == 0
    assert "not approved: the job is failed\n" in out


def test_a_waiting_patch_is_named_with_the_command_that_shows_it(fettle, finished, tiny):
    patch = {"digest": "0" * 64, "size": 99, "base": "c" * 40}
    patch |= {"files": 2, "insertions": 7, "deletions": 1}
    review = {"id": "v1", "kind": "review", "payload": {"patch": patch}, "approvals_needed": 1}
    artifacts = [{"name": "a.py", "media_type": "text/x-python", "size": 9}]
    result = {**job()["result"], "patch": patch, "artifacts": artifacts}
    waits = job(status="awaiting_review", review=review, result=None)
    opened = event(1, "review_opened", review_id="v1", kind="review")
    tiny.on("GET /jobs/j1/events", stream(opened, event(2, "succeeded", approved_by="ada")))
    tiny.on("GET /jobs/j1", Answer(200, waits), Answer(200, job(result=result)))
    out = fettle("run", "fix it")[1]
    expected = "patch: 2 files, +7 -1 lines; `fettle patch j1` shows it\n"
    assert f"{expected}look: {tiny.url}/app/jobs/j1; " in out
    assert "the change\ndecide: fettle review j1 approve" in out
    assert "patch: 2 files, +7 -1 lines; `fettle apply j1` applies it\n" in out
