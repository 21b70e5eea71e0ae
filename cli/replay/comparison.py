"""Comparison of a job and its replay. Pure, over jobs as the API returns them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import zip_longest
from typing import Any

from cli.client import Job
from jobs.view.work import read_critique

RUN = ("revision", "end", "exit_code", "signal", "succeeded", "refused")
TEXTS = ("code", "stdout", "stderr")
REPAIR = ("run", "of", "class", "cause", "diff", "attempt")
VERIFICATION = ("revision", "source", "command", "run", "holds", "problem")
VERDICT = ("revision", "verdict", "feedback", "unmet", "runs", "overruled")
OUTCOME = ("status", "reason")
MOST_LINES = 40


@dataclass(frozen=True, slots=True)
class PartComparison:
    """A part of the job. `differs` names its differences, with both values."""

    part: str
    differs: Mapping[str, tuple[Any, Any]]

    @property
    def same(self) -> bool:
        """Whether there is no difference."""
        return not self.differs

    def difference_lines(self) -> Iterator[str]:
        """The differences, line by line."""
        for name, (old, new) in self.differs.items():
            yield f"{self.part}, {name}:"
            yield from _difference(_text(old), _text(new))


def compare(old: Job, new: Job) -> list[PartComparison]:
    """Plan, each run, repair and verdict, checks, verification, files, outcome. Times, cost, ids do
    not count."""
    return [
        _compare_part("plan", _plan(old), _plan(new)),
        *_compare_sequences("run", [*map(_run, old["runs"])], [*map(_run, new["runs"])]),
        *_compare_sequences("repair", _repairs(old), _repairs(new)),
        *_compare_sequences("verdict", _verdicts(old), _verdicts(new)),
        *_compare_sequences("checks", _checks(old), _checks(new)),
        *_compare_sequences("verification", _verifications(old), _verifications(new)),
        _compare_part("files", _files(old), _files(new)),
        _compare_part("outcome", _outcome(old), _outcome(new)),
    ]


def _compare_part(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> PartComparison:
    keys = dict.fromkeys([*old, *new])
    pairs = {key: (old.get(key), new.get(key)) for key in keys}
    return PartComparison(name, {key: pair for key, pair in pairs.items() if pair[0] != pair[1]})


def _compare_sequences(
    name: str, old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]
) -> Iterator[PartComparison]:
    for number, (was, now) in enumerate(zip_longest(old, new), 1):
        if was is None or now is None:
            presence = (was is not None, now is not None)
            yield PartComparison(f"{name} {number}", {"there": presence})
        else:
            yield _compare_part(f"{name} {number}", was, now)


def _plan(job: Job) -> Mapping[str, Any]:
    return {"steps": job["plan"]["steps"] if job["plan"] else None}


def _run(run: Mapping[str, Any]) -> Mapping[str, Any]:
    texts = {part: (run[part]["text"], run[part].get("digest")) for part in TEXTS}
    files = {file["name"]: file["digest"] for file in run["artifacts"]}
    return {
        **{name: run[name] for name in RUN},
        **{part: text for part, (text, _) in texts.items()},
        "whole texts": [digest for _, digest in texts.values()],
        "files": files,
    }


def _repairs(job: Job) -> list[Mapping[str, Any]]:
    """The repairs with their changes. A long change is compared by its digest."""
    repairs = job.get("repairs") or ()
    return [{name: repair.get(name) for name in REPAIR} for repair in repairs]


def _checks(job: Job) -> list[Mapping[str, Any]]:
    """The last report, if there is one: each test with its outcome."""
    if (report := job.get("checks")) is None:
        return []
    outcomes = {test["id"]: test["outcome"] for test in report["tests"]}
    return [{"passed": report["passed"], "problem": report["problem"], **outcomes}]


def _verifications(job: Job) -> list[Mapping[str, Any]]:
    """The last one, if there is one, and what its experiments have shown."""
    if (verification := job.get("verification")) is None:
        return []
    experiments = {
        _experiment_name(experiment): (experiment["still_green"], experiment["end"])
        for experiment in verification["experiments"]
    }
    return [{**{name: verification.get(name) for name in VERIFICATION}, **experiments}]


def _experiment_name(experiment: Mapping[str, Any]) -> str:
    state = "as before the job" if experiment.get("kind") == "before" else "broken"
    return f"with {', '.join(experiment['replaced'])} {state}"


def _verdicts(job: Job) -> list[Mapping[str, Any]]:
    verdicts = [read_critique(critique) for critique in job["critiques"]]
    return [{name: verdict[name] for name in VERDICT} for verdict in verdicts]


def _files(job: Job) -> Mapping[str, Any]:
    return {file["name"]: file["digest"] for file in job["artifacts"]}


def _outcome(job: Job) -> Mapping[str, Any]:
    """The person who approved is not compared, because a replay has its own keys."""
    result = job["result"] or {}
    by = result.get("approved_by")
    return {
        **{name: job[name] for name in OUTCOME},
        "approved by": by if by in (None, "critic") else "a person",
        "override": result.get("override"),
        "answer": result.get("answer"),
        "patch": (result.get("patch") or {}).get("digest"),
    }


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "\n".join(map(str, value))
    return str(value)


def _difference(old: str, new: str) -> list[str]:
    lines = list(unified_diff(old.split("\n"), new.split("\n"), "recorded", "played", lineterm=""))
    return lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], "..."]
