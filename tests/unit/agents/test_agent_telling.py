"""What a model is told of a run."""

from __future__ import annotations

import pytest

from agents.runs.report import ending, run_report
from sandbox.protocol import End, Limits, RunResult, Stream


def result(end: End = End.EXITED, code: int | None = 0, **more: object) -> RunResult:
    base = {"signal": None, "stdout": Stream(), "stderr": Stream(), "seconds": 1.25}
    return RunResult(end, code, **{**base, **more})  # type: ignore[arg-type]


def test_output_errors_and_files() -> None:
    ran = result(
        code=1,
        stdout=Stream("out\n", 5),
        stderr=Stream("err\n"),
        changed={"b": b"", "a": b""},
        deleted=frozenset({"c"}),
    )
    assert run_report(ran, ["d (a link)"], Limits(), 100) == (
        "exit code 1\n\nstdout:\nout\n[5 bytes more were not kept]\n\nstderr:\nerr\n\n"
        "new or changed files: a, b\n\ndeleted files: c\n\nnot kept: d (a link)"
    )


def test_of_many_files_some_are_named() -> None:
    names = [f"f{number:03}" for number in range(900)]
    ran = result(changed=dict.fromkeys(names, b""), deleted=frozenset(f"d{n}" for n in range(41)))
    refused = [f"{name}: {'x' * 400}" for name in names]
    _, changed, deleted, kept = run_report(ran, refused, Limits(), 4_000).split("\n\n")
    assert changed == f"new or changed files: {', '.join(names[:40])} and 860 more (list_dir)"
    assert deleted.endswith(", d8 and 1 more")
    assert kept.endswith(f"; {refused[8]} and 891 more")
    assert len(kept) < 4_100


def test_a_silent_run_says_so() -> None:
    assert run_report(result(), [], Limits(), 100) == "exit code 0\n\nno output, no new files"


def test_the_same_run_reads_the_same_however_long_it_took() -> None:
    quick, slow = result(seconds=0.1), result(seconds=9.0)
    assert run_report(quick, [], Limits(), 100) == run_report(slow, [], Limits(), 100)


@pytest.mark.parametrize(
    ("end", "code", "number", "words"),
    [
        (End.EXITED, 3, None, "exit code 3"),
        (End.SIGNALED, None, 11, "killed by signal 11 (SIGSEGV)"),
        (End.SIGNALED, None, 99, "killed by signal 99"),
        (End.TIMEOUT, None, None, "stopped: it ran for longer than 15 s"),
        (End.CPU, None, None, "stopped: it used more than 20 s of processor time"),
        (End.MEMORY, None, None, "stopped: it used more than 512 MiB of memory"),
        (End.OUTPUT, None, None, "stopped: it printed far more than is kept (64 KiB)"),
        (End.DISK, None, None, "stopped: its files took more than 64 MiB"),
        (End.KILLED, None, None, "stopped: it was killed from outside"),
    ],
)
def test_every_end_has_words(end: End, code: int | None, number: int | None, words: str) -> None:
    assert ending(end.value, code, number, Limits()) == words
