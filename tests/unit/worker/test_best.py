"""The best result of a job that ends early."""

from __future__ import annotations

from typing import Any

from jobs.model.events import Event
from worker.outcome import best


def test_the_report_of_its_checks_stays() -> None:
    report = {"revision": 1, "tests": [{"id": "t", "outcome": "failed"}]}
    values: dict[str, Any] = {
        "job": {"task": "Add."},
        "revision": 1,
        "answers": [{"revision": 1, "text": "Sums.", "workspace": None}],
        "runs": [],
        "checked": report,
    }
    result = best(values, [])
    assert result is not None
    assert (result.answer, result.checks) == ("Sums.", report)


def wrote(seq: int, name: str) -> Event:
    made = {"name": name, "digest": f"d{seq}", "size": 1, "media_type": "text/x-python"}
    return Event(seq, seq, "tool_used", {"tool": "write_file", "artifacts": [made]})


def test_what_was_deleted_later_is_not_handed_back() -> None:
    shown = [wrote(1, "kept.py"), wrote(2, "gone.py")]
    result = best({"job": {"task": "Add."}}, shown, there={"kept.py", "data.csv"})
    assert result is not None
    assert [each["name"] for each in result.artifacts] == ["kept.py"]
    everything = best({"job": {"task": "Add."}}, shown)
    assert everything is not None
    assert len(everything.artifacts) == 2


def test_a_pass_cut_short_adds_no_files_to_an_answer_of_before() -> None:
    kept = {"name": "a.py", "digest": "d", "size": 1, "media_type": "text/x-python"}
    answer = {"revision": 1, "text": "Sums.", "workspace": "w", "artifacts": {"a.py": kept}}
    values: dict[str, Any] = {
        "job": {"task": "Add."}, "revision": 1, "answers": [answer], "artifacts": {"a.py": kept},
    }  # fmt: skip
    result = best(values, [wrote(1, "a.py"), wrote(2, "b.py")])
    assert result is not None
    assert (result.answer, result.artifacts) == ("Sums.", (kept,))
