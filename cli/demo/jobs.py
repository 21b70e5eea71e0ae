"""The demo's five jobs."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cli.repository.git import AS_FETTLE, LocalGit


@dataclass(frozen=True, slots=True)
class DemoJob:
    """A job, and the recording that plays its model if no provider has a key."""

    title: str
    task: str
    recording: str
    review: bool = False
    follows_up: bool = False
    """Whether it continues the conversation of the job before it."""
    verify: str | None = None
    """The command that proves the work."""
    on_project: bool = False
    """Whether it works on the demo project (`begin_project`)."""

    def spec(self, conversation_id: str | None, *, recorded: bool) -> dict[str, Any]:
        """The body of POST /jobs."""
        spec: dict[str, Any] = {"task": self.task, "review": self.review, "labels": ["demo"]}
        if recorded:
            spec["model"] = f"recording:{self.recording}"
        if self.verify:
            spec["verify"] = self.verify
        if self.on_project:
            spec["setup"] = ""  # it needs no packages
        if self.follows_up and conversation_id:
            spec["conversation_id"] = conversation_id
        return spec


JOBS = (
    DemoJob(
        title="binary search",
        task="Write a binary search and test it on 20 numbers.",
        recording="demo-binary-search",
    ),
    DemoJob(
        title="a follow-up in the same conversation",
        task="Now make it work with strings too.",
        recording="demo-binary-search-strings",
        follows_up=True,
    ),
    DemoJob(
        title="k-means with a plot, reviewed by a person",
        task=(
            "Implement k-means from scratch (no scikit-learn), cluster 150 points in 3 groups, "
            "and save a plot with the centroids marked X."
        ),
        recording="demo-kmeans",
        review=True,
    ),
    DemoJob(
        title="a bug that shows at the first run",
        task=(
            "Fix this function and test it: def divide(a, b): return a / b -- it crashes when "
            "called with (10, 0)."
        ),
        recording="demo-bug-fix",
    ),
    DemoJob(
        title="a bug in a git repository",
        task="A stay of exactly one hour is charged for two. Fix it, with a test.",
        recording="demo-repository",
        verify="pytest -q",
        on_project=True,
    ),
)


FILES = Path(__file__).parent / "parking.yaml"


def begin_project(folder: Path) -> Path:
    """Make the project in `folder`, with one commit; the files of an earlier demo are removed.
    Raises LocalGitFailed, and CliError if git is not installed."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in yaml.safe_load(FILES.read_text()).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    git = LocalGit(folder, AS_FETTLE)
    git.run("init", "--quiet", "--initial-branch=main")
    git.run("add", "--all")
    git.run("commit", "--quiet", "--no-gpg-sign", "--message", "Parking 1.4.0")
    return folder
