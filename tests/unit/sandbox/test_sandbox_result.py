"""The check of a sandbox's answer: an inconsistent answer is forged."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox.paths import fault
from sandbox.protocol import Command, End, Limits
from sandbox.result import (
    AnswerHeader,
    ExitReport,
    ForgedAnswer,
    build_result,
    decode_stream,
    explain_failure,
    parse_header,
    result_without_answer,
)

LIMITS = Limits(output_bytes=10, file_bytes=100, workspace_bytes=150, workspace_files=3)
COMMAND = Command(("x",), {"in": b"1", "d/in": b"2"})
GOOD = {
    "end": "-", "status": "0", "seconds": "0.250000", "cpu_seconds": "0.010000",
    "stdout": "2 0 0", "stderr": "0 0 0",
}  # fmt: skip


def header(*extra: str, **changes: str) -> bytes:
    return "\n".join([*(f"{k} {v}" for k, v in {**GOOD, **changes}.items()), *extra]).encode()


def read(text: bytes, limits: Limits = LIMITS) -> AnswerHeader:
    return parse_header(text, COMMAND, limits, elapsed=1.0)


def test_a_good_answer_is_read() -> None:
    text = header("changed 3 in", "changed 0 new/é", "deleted d/in", "refused l: a link",
                  "executable in", "link 5 to",
                  status=str(3 << 8), stdout="6 4 90")  # fmt: skip
    answer = read(text)
    assert answer.sizes == (6, 4, 0, 0, 3, 0, 5)
    blobs = [b"abcdef", b"wxyz", b"", b"", b"new", b"", b"../in"]
    result = build_result(answer, blobs)
    assert (result.end, result.exit_code, result.signal) == (End.EXITED, 3, None)
    assert result.stdout.text == "abcdef\n[... 90 bytes left out ...]\nwxyz"
    assert result.stdout.dropped_bytes == 90
    assert result.changed == {"in": b"new", "new/é": b""}
    assert (result.executable, result.links) == ({"in"}, {"to": "../in"})
    assert (result.deleted, result.refused) == ({"d/in"}, ("l: a link",))
    for target in (b"\xff", b"a\0b", b"", b"a\nb"):
        with pytest.raises(ForgedAnswer):
            build_result(answer, [*blobs[:-1], target])
    assert result.seconds == 0.25


@pytest.mark.parametrize(
    ("status", "cpu", "expected"),
    [
        (0, "0.0", (End.EXITED, 0, None)),
        (signal.SIGTERM, "0.0", (End.SIGNALED, None, signal.SIGTERM)),
        (signal.SIGKILL, "19.9", (End.SIGNALED, None, signal.SIGKILL)),
        (signal.SIGKILL, "20.0", (End.CPU, None, None)),
        (signal.SIGXCPU, "0.0", (End.CPU, None, None)),
        (signal.SIGXFSZ, "0.0", (End.DISK, None, None)),
        (signal.SIGSEGV | 0x80, "0.0", (End.SIGNALED, None, signal.SIGSEGV)),
    ],
)
def test_the_end_follows_the_status(
    status: int, cpu: str, expected: tuple[End, int | None, int | None]
) -> None:
    answer = read(header(status=str(int(status)), cpu_seconds=cpu))
    assert (answer.end, answer.exit_code, answer.signal) == expected


@pytest.mark.parametrize("end", ["timeout", "cpu", "memory", "output", "disk", "processes"])
def test_an_exceeded_limit_comes_before_the_status(end: str) -> None:
    answer = read(header(end=end, status="9"))
    assert (answer.end, answer.exit_code, answer.signal) == (End(end), None, None)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        header("status 0"),
        header("surprise 1"),
        header("changed 1 ../x"),
        header("changed -1 x"),
        header("changed 101 x"),
        header("changed 1 x", "changed 1 x"),
        header(*(f"changed 0 f{n}" for n in range(4))),
        header("changed 1 in/x"),
        header("link 1 in/x"),
        header("link 1 ../x"),
        header("link 5000 x"),
        header("changed 1 x", "link 1 x"),
        header("executable x"),
        header("changed 1 x", "executable x", "executable x"),
        header("deleted other"),
        header("refused \x1b[2J"),
        header(*("refused x" for _ in range(22))),
        header(end="exited"),
        header(status="70000"),
        header(status="\u0663"),
        header(seconds="1.100000"),
        header(seconds="nan"),
        header(stdout="11 0 0"),
        header(stdout="6 5 0"),
        header(stdout="1 1 99999999999999"),
    ],
)
def test_an_inconsistent_header_is_forged(text: bytes) -> None:
    with pytest.raises(ForgedAnswer):
        read(text)


def test_any_path_of_trees_may_be_deleted_once() -> None:
    command = Command(("x",), {"in": b"1"}, trees=("base",), removed=frozenset({"was", "in"}))
    assert parse_header(header("deleted a/b", "deleted in"), command, LIMITS, 1.0).deleted == {
        "a/b",
        "in",
    }
    for lines in (
        ("deleted ../x",),
        ("deleted was",),
        ("deleted a", "deleted a"),
        ("deleted a", "changed 1 a"),
    ):
        with pytest.raises(ForgedAnswer):
            parse_header(header(*lines), command, LIMITS, 1.0)


LINES = st.sampled_from(header("changed 9 a/b", "deleted in", "refused x").decode().split("\n"))


@given(st.one_of(st.binary(), st.lists(st.one_of(LINES, st.text()), max_size=12)))
@example(header())
def test_any_header_is_forged_or_within_the_limits(sent: bytes | list[str]) -> None:
    text = sent if isinstance(sent, bytes) else "\n".join(sent).encode(errors="replace")
    try:
        answer = read(text)
    except ForgedAnswer:
        return
    assert all(fault(path) is None for path in answer.changed)
    assert sum(answer.sizes) <= 2 * LIMITS.output_bytes + LIMITS.workspace_bytes
    assert 0 <= answer.seconds <= 1.0


@given(st.text(), st.integers(0, 40), st.integers(0, 40))
def test_a_cut_stream_has_complete_characters(text: str, head: int, tail: int) -> None:
    data = text.encode()
    head_data, tail_data = data[:head], data[max(head, len(data) - tail) :]
    dropped = len(data) - len(head_data) - len(tail_data)
    stream = decode_stream(head_data, tail_data, dropped)
    assert stream.dropped_bytes == dropped
    if not dropped:
        assert stream.text == text
    elif "\ufffd" not in text:
        assert "\ufffd" not in stream.text


@pytest.mark.parametrize(
    ("end", "code", "number", "hits", "expected"),
    [
        (End.EXITED, 0, None, (1, 1), End.EXITED),
        (End.EXITED, 1, None, (0, 2), End.PROCESSES),
        (End.EXITED, 1, None, (1, 2), End.MEMORY),
        (End.SIGNALED, None, 9, (1, 0), End.MEMORY),
        (End.KILLED, None, None, (1, 0), End.MEMORY),
        (End.KILLED, None, None, (0, 0), End.KILLED),
        (End.TIMEOUT, None, None, (1, 1), End.TIMEOUT),
    ],
)
def test_the_counters_of_the_control_group_explain_a_failure(
    end: End, code: int | None, number: int | None, hits: tuple[int, int], expected: End
) -> None:
    result = explain_failure(
        replace(result_without_answer(end, 1.0), exit_code=code, signal=number),
        ExitReport(False, *hits),
    )
    assert result.end is expected
    expected_status = (code, number) if expected is end else (None, None)
    assert (result.exit_code, result.signal) == expected_status
