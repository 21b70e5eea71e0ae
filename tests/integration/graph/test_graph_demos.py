"""The shipped recordings: every line of code in them runs, and the job goes where they say."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from support.graph.graphs import Journey, only

from agents.graph.job_input import JobInput
from agents.models.options import SHIPPED_RECORDINGS
from agents.ports import Earlier
from sandbox.local import LocalSandbox
from settings.sandbox import sandbox_python

SEARCH = "Write a binary search and test it on 20 numbers."
KMEANS = (
    "Implement k-means from scratch (no scikit-learn), cluster 150 points in 3 groups, "
    "and save a plot with the centroids marked X."
)
DIVIDE = (
    "Fix this function and test it: def divide(a, b): return a / b -- "
    "it crashes when called with (10, 0)."
)


@pytest.fixture
async def sandbox() -> AsyncIterator[LocalSandbox]:
    local = LocalSandbox(sandbox_python(), pool_size=1)
    yield local
    await local.close()


@dataclass(frozen=True)
class Stage:
    """Plays shipped recordings."""

    sandbox: LocalSandbox

    def set(self, name: str, files: Mapping[str, bytes] | None = None) -> Journey:
        return Journey.play(SHIPPED_RECORDINGS, name, self.sandbox, files)


def evidence(journey: Journey) -> tuple[str, list[str]]:
    """What the last verification ran, and the files without which it failed."""
    found = journey.data_of("verified")[-1]
    assert (found["source"], found["holds"]) == ("model", True)
    assert not any(each["still_green"] for each in found["experiments"])
    return found["command"], [path for each in found["experiments"] for path in each["replaced"]]


@pytest.fixture
def stage(sandbox: LocalSandbox) -> Stage:
    return Stage(sandbox)


async def test_binary_search_and_its_follow_up(stage: Stage) -> None:
    first = stage.set("demo-binary-search")
    await first.begin(JobInput(SEARCH))
    done = await first.outcome()
    assert done.approved_by == "critic"
    assert evidence(first) == ("python check_binary_search.py", ["binary_search.py"])
    files = await first.ports.workspace.files()
    second = stage.set("demo-binary-search-strings", files)
    job = JobInput(
        "Now make it work with strings too.",
        earlier=(Earlier(SEARCH, done.summary),),
        files=tuple(files),
    )
    await second.begin(job)
    assert (await second.outcome()).approved_by == "critic"
    assert [run["succeeded"] for run in second.data_of("run_finished")] == [True, True]
    assert evidence(second) == ("python check_strings.py", ["binary_search.py"])


async def test_kmeans_is_shown_to_a_person(stage: Stage) -> None:
    journey = stage.set("demo-kmeans")
    state = await journey.begin(JobInput(KMEANS, review=True))
    shown: Mapping[str, Any] = only(state["__interrupt__"]).value
    plot = only(shown["artifacts"], lambda artifact: artifact["media_type"] == "image/png")
    assert journey.record.blobs[plot["digest"]].startswith(b"\x89PNG")
    assert (shown["unproven"], evidence(journey)) == (
        None,
        ("pytest test_kmeans.py", ["kmeans.py"]),
    )
    state = await journey.decide("revise", feedback="Make the X bigger.")
    assert "This is a recording" in only(state["__interrupt__"]).value["answer"]
    await journey.decide("approve")
    ended = await journey.outcome()
    assert (ended.approved_by, ended.override) == ("Ada", False)


async def test_the_bug_is_seen_and_then_gone(stage: Stage) -> None:
    journey = stage.set("demo-bug-fix")
    await journey.begin(JobInput(DIVIDE))
    first, second = journey.data_of("run_finished")
    assert (first["succeeded"], second["succeeded"]) == (False, True)
    moved = [kind for kind in journey.kinds() if kind.startswith(("step", "run", "answer"))]
    assert [kind.partition("_")[2] or kind for kind in moved] == [
        *("started", "finished", "started", "started", "finished"),
        *("finished", "finished", "finished", "answered"),
    ]
    steps = [event["step"] for event in journey.data_of("step_started")]
    assert (steps, journey.data_of("step_finished")[-1]["step"]) == ([1, 2, 3], 3)
    assert "ZeroDivisionError: division by zero" in first["stderr"]["text"]
    assert evidence(journey) == ("python check_divide.py", ["divide.py"])
    assert (await journey.outcome()).approved_by == "critic"
