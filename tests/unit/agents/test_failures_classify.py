"""The reason for a failed run, by the structure of its output. Tracebacks are CPython's own."""

from __future__ import annotations

import contextlib
import io
import time
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.failures.classify import classify, of_verification
from agents.failures.failure import PROGRAM, Failure
from sandbox.protocol import End, RunResult, Stream


def run_result(
    code: int | None = 1,
    out: str = "",
    err: str = "",
    end: End = End.EXITED,
    number: int | None = None,
) -> RunResult:
    return RunResult(end, code, number, Stream(out), Stream(err), 0.1)


def failure(result: RunResult) -> Failure:
    return classify(result)


def stderr_of(code: str, **known: Any) -> str:
    """The interpreter's output for the exception that ends `code`."""
    text = io.StringIO()
    with contextlib.suppress(SystemExit):
        try:
            exec(compile(code, PROGRAM, "exec"), {"__name__": "__main__", **known})
        except Exception as error:  # noqa: BLE001 - that is what is asked for
            traceback.print_exception(error, file=text)
    return text.getvalue()


def kind(code: str) -> str:
    return failure(run_result(err=stderr_of(code))).kind.value


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(:", "syntax"),
        ("import nothing_of_that_name", "import"),
        ("1 + ''", "type"),
        ("nothing", "name"),
        ("None.nothing", "name"),
        ("{}['a']", "key"),
        ("[][1]", "key"),
        ("int('x')", "value"),
        ("assert 1 == 2", "assertion"),
        ("open('/nothing/here')", "file"),
        ("def f(): f()\nf()", "recursion"),
        ("1 % 0", "zero_division"),
        ("raise MemoryError", "memory"),
        ("raise OSError(28, 'No space left on device')", "output_flood"),
        ("raise OSError(101, 'Network is unreachable')", "network_denied"),
        ("import urllib.error as e\nraise e.URLError('no host')", "network_denied"),
        ("raise RuntimeError('x')", "unknown"),
    ],
)
def test_the_type_that_ended_the_program_decides(code: str, expected: str) -> None:
    assert kind(code) == expected


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (End.TIMEOUT, "timeout"), (End.CPU, "timeout"), (End.MEMORY, "memory"),
        (End.OUTPUT, "output_flood"), (End.DISK, "output_flood"), (End.KILLED, "memory"),
        (End.PROCESSES, "unknown"),
    ],
)  # fmt: skip
def test_an_exceeded_limit_decides_first(end: End, expected: str) -> None:
    assert failure(run_result(None, end=end)).kind.value == expected
    # A run may exceed the limit of processes earlier: that limit does not end the run.
    if end is not End.PROCESSES:
        assert failure(run_result(None, err=stderr_of("1 / 0"), end=end)).kind.value == expected


PYTEST = """\
============================= test session starts ==============================
collected 3 items

test_shop.py .F.                                                         [100%]

=================================== FAILURES ===================================
__________________________________ test_total __________________________________
    def test_total():
>       assert total([1]) == 2
E       TypeError: no
=========================== short test summary info ============================
FAILED test_shop.py::test_total - TypeError: no
========================= 1 failed, 2 passed in 0.04s ==========================
"""


def test_a_report_of_pytest() -> None:
    classified = failure(run_result(1, out=PYTEST))
    assert classified.kind.value == "test_failure"
    assert classified.cause == "1 of 3 tests failed: test_shop.py::test_total: TypeError: no"
    assert failure(run_result(1, out="1 failed in 0.02s\n")).kind.value == "test_failure"
    assert (
        failure(run_result(5, out="===== no tests ran in 0.01s =====\n")).kind.value
        == "test_failure"
    )


UNITTEST = """\
E
======================================================================
ERROR: test_total (test_shop.Shop.test_total)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/work/test_shop.py", line 6, in test_total
    self.assertEqual(total([1]), 1)
TypeError: no

----------------------------------------------------------------------
Ran 1 test in 0.000s

FAILED (errors=1)
"""


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (run_result(1, out="--- FAIL: TestTotal (0.00s)\nFAIL\n"), "test_failure"),  # go test
        (
            run_result(101, out="test result: FAILED. 0 passed; 1 failed\n"),
            "test_failure",
        ),  # cargo test
        (run_result(1, err="Tests:       1 failed, 2 total\n"), "test_failure"),  # jest
        (run_result(3), "test_failure"),
        (run_result(1, err=UNITTEST), "test_failure"),
        (run_result(1, err=stderr_of("assert 1 == 2")), "test_failure"),
        (run_result(1, err=stderr_of("import nothing_of_that_name")), "import"),
        (run_result(1, err=stderr_of("1 + ''")), "type"),
        (run_result(127, err="make: gcc: No such file or directory\n"), "file"),
        (run_result(124), "timeout"),
        (run_result(None, end=End.TIMEOUT), "timeout"),
        (run_result(None, number=9), "memory"),
        (run_result(None, number=11), "unknown"),
        (run_result(139), "unknown"),
    ],
)
def test_a_verification_that_exits_with_an_error_is_a_failed_test(result, expected) -> None:
    classified = classify(result, shell=True)
    assert of_verification(classified, result, reported=False, failed=None).kind.value == expected


def test_a_test_that_pytest_reports_as_failed_decides_the_class() -> None:
    result = run_result(1, err=stderr_of("1 + ''"))
    classified = of_verification(classify(result), result, reported=True, failed="t.py::test_a: no")
    assert (classified.kind.value, classified.cause) == (
        "test_failure",
        "a test failed: t.py::test_a: no",
    )
    limited = run_result(None, end=End.MEMORY)
    classified = of_verification(
        classify(limited), limited, reported=True, failed="t.py::test_a: no"
    )
    assert classified.kind.value == "memory"


def test_tests_that_cannot_be_collected_keep_the_class_of_their_exception() -> None:
    out = "= ERRORS =\n_ ERROR collecting test_a.py _\nE   ImportError: no x\n1 error in 0.10s\n"
    result = run_result(2, out=out)
    classified = of_verification(classify(result), result, reported=True, failed=None)
    assert classified.kind.value == "import"


_PIECES = st.sampled_from(
    [
        "Traceback (most recent call last):", '  File "/run/main.py", line 1, in f', "    x()",
        "KeyError: 1", "  + Exception Group Traceback (most recent call last):", "  | E: m",
        "  +-+---------------- 1 ----------------", "    | ValueError: 1", "Exception in thread T:",
        "[... 12 bytes left out ...]", "", "1 failed in 0.1s", "FAILED (failures=1)", "E   A: b",
        "During handling of the above exception, another exception occurred:", "Call stack:",
    ]
)  # fmt: skip
_TEXTS = st.lists(_PIECES | st.text(max_size=20), max_size=12).map("\n".join)


@given(out=_TEXTS, err=_TEXTS, code=st.integers(0, 255), end=st.sampled_from(End))
def test_every_end_has_a_class_for_any_output(out: str, err: str, code: int, end: End) -> None:
    number = 11 if end is End.SIGNALED else None
    classified = classify(run_result(code, out, err, end, number)).fields()
    assert classified["class"]
    assert classified["cause"]
    assert len(classified["cause"].splitlines()) == 1


HOSTILE = [
    "KeyError: 1",
    "a.b: ",
    "class A(",
    "E   x",
    "1 a, ",
    "\n",
    "= ",
    "1",
    "a",
    "_ ",
    "Ran 1",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_output_is_read_in_linear_time(piece: str) -> None:
    text = piece * (60_000 // len(piece)) + (" failed in 0.01s" if piece == "1" else "")
    started = time.process_time()
    classify(run_result(1, text, text))
    assert time.process_time() - started < 1
