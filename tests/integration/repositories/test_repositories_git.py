"""The program git: a missing or old git is reported, and git ignores the settings of this
machine.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.servers.git_repositories import Repository

from settings.worker import WorkerSettings
from worker.background.announcement import announcement
from worker.repositories import git
from worker.repositories.errors import RepositoryRefused, RepositoryUnavailable


def make_fake_git(folder: Path, text: str) -> str:
    """A folder for the PATH, with a program `git` that prints this text."""
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\necho '{text}'\n")
    (folder / "git").chmod(0o755)
    return str(folder)


async def test_a_job_without_git_names_the_package_to_install(
    project: Repository, uploads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.commit({"a.txt": b"1\n"})
    bundle = project.bundle()
    base = await uploads.base(bundle)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(RepositoryUnavailable, match="install Debian's package git"):
        await uploads.base(bundle)
    with pytest.raises(RepositoryUnavailable, match="install Debian's package git"):
        await base.read("a.txt")
    announced = announcement(WorkerSettings())["repositories"]
    assert (announced["git"], announced["works"]) == (None, False)
    assert "install Debian's package git" in announced["why"]


async def test_an_old_git_is_refused(
    project: Repository, uploads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.commit({"a.txt": b"1\n"})
    bundle = project.bundle()
    monkeypatch.setenv("PATH", make_fake_git(tmp_path / "old", "git version 2.20.1"))
    with pytest.raises(RepositoryUnavailable, match=r"git 2\.20\.1 is too old: 2\.32 or newer"):
        await uploads.base(bundle)
    monkeypatch.setenv("PATH", make_fake_git(tmp_path / "odd", "something else"))
    assert git.version() is None


@pytest.mark.parametrize(
    ("script", "passing"),
    [
        ("kill -KILL $$", True),
        ("kill -TERM $$", True),
        ("echo 'fatal: cannot fork: Resource temporarily unavailable' >&2; exit 128", True),
        ("echo 'fatal: write error: No space left on device' >&2; exit 128", True),
        ("echo 'fatal: Out of memory, malloc failed' >&2; exit 128", False),
        ("kill -XCPU $$", False),
        ("kill -XFSZ $$", False),
    ],
)
async def test_a_failing_machine_is_an_outage_but_a_failing_change_is_not(
    project: Repository,
    uploads,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    passing: bool,
) -> None:
    project.commit({"a.txt": b"1\n"})
    base = await uploads.base(project.bundle())
    folder = make_fake_git(tmp_path / "ended", "")
    (tmp_path / "ended" / "git").write_text(f"#!/bin/sh\n{script}\n")
    monkeypatch.setenv("PATH", folder)
    with pytest.raises(RepositoryRefused) as raised:
        await base.patch({"a.txt": b"2\n"}, frozenset())
    assert isinstance(raised.value, RepositoryUnavailable) == passing


def test_a_worker_announces_its_git_and_hosts() -> None:
    hosts = {"repo_hosts": "git.example.org", "deliver_hosts": "git.example.org=gitlab"}
    settings = WorkerSettings.model_validate(hosts)
    announced = announcement(settings)["repositories"]
    assert announced == {
        "git": ".".join(map(str, git.version() or ())),
        "works": True,
        "why": None,
        "hosts": ["git.example.org"],
        "lacks": [],
        "delivers": ["git.example.org=gitlab"],
        "setups": [],
    }


async def test_configuration_of_this_machine_is_not_read(
    project: Repository, uploads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the settings of a user, nor settings from environment variables."""
    mark = tmp_path / "mark"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "reference-transaction").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (hooks / "reference-transaction").chmod(0o755)
    (tmp_path / ".gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n\tabbrev = 4\n")
    project.commit({"a.txt": b"1\n"})
    bundle = project.bundle()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_TRACE", str(mark))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(hooks))
    base = await uploads.base(bundle)
    await base.bundle({"a.txt": b"2\n"}, frozenset(), branch="b", message="m", author="a", at=1)
    assert not mark.exists()


LINES = b"one\ntwo\nthree\nfour\nfive\n"


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        (LINES.replace(b"one", b"1"), LINES.replace(b"five", b"5"), b"1\ntwo\nthree\nfour\n5\n"),
        (LINES.replace(b"one", b"1"), LINES.replace(b"one", b"I"), None),
        (LINES + b"six\n", b"zero\n" + LINES, b"zero\n" + LINES + b"six\n"),
        (LINES.replace(b"two", b"\0"), LINES.replace(b"five", b"5"), None),
        (
            LINES.replace(b"one", b"\xff"),
            LINES.replace(b"five", b"5"),
            b"\xff\ntwo\nthree\nfour\n5\n",
        ),
        (LINES.replace(b"one", b"1\r"), b"", None),
    ],
)
async def test_two_changes_of_a_text_are_merged_by_lines(uploads, first, second, merged):
    assert await uploads.repositories().merge_texts(LINES, first, second) == merged


async def test_a_worker_without_git_merges_no_text(uploads, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    first, second = LINES.replace(b"one", b"1"), LINES.replace(b"five", b"5")
    assert await uploads.repositories().merge_texts(LINES, first, second) is None
