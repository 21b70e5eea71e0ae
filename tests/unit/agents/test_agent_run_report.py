"""What a model is told of a run."""

from __future__ import annotations

from agents.runs.report import run_report
from sandbox.protocol import End, Limits, RunResult, Stream


def result(end: End = End.EXITED, code: int | None = 0, **more: object) -> RunResult:
    base = {"signal": None, "stdout": Stream(), "stderr": Stream(), "seconds": 1.25}
    return RunResult(end, code, **{**base, **more})  # type: ignore[arg-type]


def test_of_many_files_some_are_named() -> None:
    names = [f"f{number:03}" for number in range(900)]
    ran = result(changed=dict.fromkeys(names, b""), deleted=frozenset(f"d{n}" for n in range(41)))
    refused = [f"{name}: {'x' * 400}" for name in names]
    _, changed, deleted, kept = run_report(ran, refused, Limits(), 4_000).split("\n\n")
    assert changed == f"new or changed files: {', '.join(names[:40])} and 860 more (list_dir)"
    assert deleted.endswith(", d8 and 1 more")
    assert kept.endswith(f"; {refused[8]} and 891 more")
    assert len(kept) < 4_100
