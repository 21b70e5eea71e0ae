"""Why a run failed: by structure first, by words last. Tracebacks are CPython's own."""

from __future__ import annotations

import contextlib
import io
import signal
import time
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.failures.classify import classify
from agents.failures.failure import LONGEST_CAUSE, PROGRAM, Failure
from sandbox.protocol import End, RunResult, Stream


def ended(
    code: int | None = 1,
    out: str = "",
    err: str = "",
    end: End = End.EXITED,
    number: int | None = None,
) -> RunResult:
    return RunResult(end, code, number, Stream(out), Stream(err), 0.1)


def failure(result: RunResult, **files: str) -> Failure:
    sources = {name.replace("__", "/") + ".py": text.encode() for name, text in files.items()}
    return classify(result, sources)


def stderr_of(code: str, **known: Any) -> str:
    """What the interpreter prints of the exception that ends `code`."""
    told = io.StringIO()
    with contextlib.suppress(SystemExit):
        try:
            exec(compile(code, PROGRAM, "exec"), {"__name__": "__main__", **known})
        except Exception as error:  # noqa: BLE001 - that is what is asked for
            traceback.print_exception(error, file=told)
    return told.getvalue()


def kind(code: str, **files: str) -> str:
    return failure(ended(err=stderr_of(code)), run__main=code, **files).kind.value


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(:", "syntax"),
        ("if True:\nprint(1)", "syntax"),
        ("eval('1 +')", "syntax"),
        ("import nothing_of_that_name", "import"),
        ("from os import nothing_of_that_name", "import"),
        ("1 + ''", "type"),
        ("nothing", "name"),
        ("None.nothing", "name"),
        ("def f():\n    print(x)\n    x = 1\nf()", "name"),
        ("{}['a']", "key"),
        ("[][1]", "key"),
        ("int('x')", "value"),
        ("b'\\xff'.decode()", "value"),
        ("1e308 ** 2", "value"),
        ("assert 1 == 2", "assertion"),
        ("open('/nothing/here')", "file"),
        ("def f(): f()\nf()", "recursion"),
        ("1 % 0", "zero_division"),
        ("raise MemoryError", "memory"),
        ("raise TimeoutError('slow')", "timeout"),
        ("raise ConnectionResetError", "network_denied"),
        ("raise OSError(28, 'No space left on device')", "output_flood"),
        ("raise OSError(101, 'Network is unreachable')", "network_denied"),
        ("import json\njson.loads('{')", "value"),
        ("from decimal import Decimal\nDecimal(1) / Decimal(0)", "zero_division"),
        ("import urllib.error as e\nraise e.URLError('no host')", "network_denied"),
        ("raise RuntimeError('x')", "unknown"),
        ("raise Exception", "unknown"),
    ],
)
def test_the_type_that_ended_the_program_decides(code: str, expected: str) -> None:
    assert kind(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise AssertionError('expected TypeError')", "assertion"),
        ("raise AssertionError('TypeError: no')", "assertion"),
        ("raise ValueError('SyntaxError\\nKeyError: 1\\nMemoryError')", "value"),
        ("raise KeyError('Killed')", "key"),
    ],
)
def test_what_a_message_says_does_not_count(code: str, expected: str) -> None:
    assert kind(code) == expected


def test_the_program_s_own_exceptions_count_as_what_they_derive_from() -> None:
    direct = "class Odd(ValueError): pass\nraise Odd('x')"
    assert kind(direct) == "value"
    assert kind("class A(LookupError): pass\nclass B(A): pass\nraise B") == "key"
    assert kind("class TimeoutError(TypeError): pass\nraise TimeoutError") == "type"
    assert kind("class Plain(Exception): pass\nraise Plain('KeyError: 1')") == "unknown"


def test_an_exception_of_a_module_is_found_in_its_file() -> None:
    told = (
        'Traceback (most recent call last):\n  File "/run/main.py", line 1, in <module>\n'
        "shop.errors.SoldOut: no more\n"
    )
    source = "class SoldOut(errors.Base): ...\nclass Base(\n    KeyError,\n): ...\n"
    found = failure(ended(err=told), shop__errors=source)
    assert (found.kind.value, found.exception) == ("key", "shop.errors.SoldOut")
    assert failure(ended(err=told)).kind.value == "unknown"


def test_bases_that_go_in_a_circle_end() -> None:
    told = 'Traceback (most recent call last):\n  File "/run/main.py", line 1\nA: x\n'
    assert failure(ended(err=told), m="class A(B): 0\nclass B(A): 0").kind.value == "unknown"


def test_of_a_chain_the_last_decides_and_the_first_is_told() -> None:
    code = "try:\n    {}['port']\nexcept KeyError as error:\n    raise ValueError('bad') from error"
    found = failure(ended(err=stderr_of(code)))
    assert (found.kind.value, found.exception) == ("value", "ValueError")
    assert found.cause == "ValueError: bad (the program, line 4); raised for KeyError: 'port'"
    assert kind(code.replace(" from error", "")) == "value"


def test_where_the_last_of_a_chain_says_nothing_the_one_before_does() -> None:
    code = "try:\n    {}['port']\nexcept KeyError:\n    raise RuntimeError('no config')"
    assert kind(code) == "key"


def test_a_group_counts_as_what_is_in_it() -> None:
    code = (
        "raise ExceptionGroup('many', [RuntimeError('r'), ExceptionGroup('in', [TypeError('t')])])"
    )
    found = failure(ended(err=stderr_of(code)))
    assert (found.kind.value, found.exception) == ("type", "ExceptionGroup")
    assert found.cause.startswith("ExceptionGroup: many (2 sub-exceptions) (the program, line 1)")
    assert found.cause.endswith("in it RuntimeError: r; in it TypeError: t")


def test_what_ended_a_thread_or_was_ignored_did_not_end_the_program() -> None:
    thread = "Exception in thread Thread-1 (f):\n" + stderr_of("{}['t']")
    assert failure(ended(err=stderr_of("1 / 0") + thread)).kind.value == "zero_division"
    assert failure(ended(err=thread)).kind.value == "key"
    ignored = "Exception ignored in: <function A.__del__ at 0x1>\n" + stderr_of("{}['d']")
    assert failure(ended(err=stderr_of("1 / 0") + ignored)).kind.value == "zero_division"


def test_the_call_stack_of_a_logging_error_is_no_exception() -> None:
    logged = (
        "--- Logging error ---\n" + stderr_of("'%d' % 'x'")
        + 'Call stack:\n  File "/run/main.py", line 3, in <module>\n    log.info(1)\n'
        + "Message: 'a %d'\nArguments: ('x',)\n"
    )  # fmt: skip
    assert failure(ended(err=stderr_of("{}[1]") + logged)).exception == "KeyError"


def test_a_traceback_that_was_caught_and_printed_to_stdout_counts_where_there_is_no_other() -> None:
    assert failure(ended(out=stderr_of("{}[1]"))).kind.value == "key"
    assert (
        failure(ended(out=stderr_of("{}[1]"), err=stderr_of("1 / 0"))).kind.value == "zero_division"
    )


def test_what_is_left_of_a_traceback_whose_middle_was_dropped() -> None:
    whole = stderr_of("def f(n):\n    return 1 / n\n\nf(0)")
    cut = (
        whole[: whole.index("in f")]
        + "\n[... 70000 bytes left out ...]\n"
        + "urn 1 / n\n    ~~^~~\n"
    )
    assert failure(ended(err=cut + whole.splitlines()[-1])).kind.value == "zero_division"
    head = stderr_of("raise ValueError('a' * 50)") + "a" * 50
    assert failure(ended(err=head + "\n[... 9 bytes left out ...]\naaaa")).kind.value == "value"


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (End.TIMEOUT, "timeout"), (End.CPU, "timeout"), (End.MEMORY, "memory"),
        (End.OUTPUT, "output_flood"), (End.DISK, "output_flood"), (End.KILLED, "memory"),
        (End.PROCESSES, "unknown"),
    ],
)  # fmt: skip
def test_a_limit_that_was_hit_comes_first(end: End, expected: str) -> None:
    assert failure(ended(None, end=end)).kind.value == expected
    if end is not End.PROCESSES:  # that one may have been hit before, and is no end by itself
        assert failure(ended(None, err=stderr_of("1 / 0"), end=end)).kind.value == expected


def test_exit_137_without_a_word_is_memory_or_a_kill() -> None:
    found = failure(ended(137))
    assert found.kind.value == "memory"
    assert found.cause == "it was killed by SIGKILL: out of memory, or killed from outside"
    assert failure(ended(None, end=End.SIGNALED, number=signal.SIGKILL)).kind.value == "memory"
    assert failure(ended(137, err=stderr_of("{}[1]"))).kind.value == "key"


@pytest.mark.parametrize(
    "word", ["Killed", "killed", "Out of memory", "MemoryError maybe", "timeout"]
)
def test_words_that_the_program_itself_prints_are_no_limit(word: str) -> None:
    assert failure(ended(1, out=f"{word}\n")).kind.value == "unknown"
    assert failure(ended(1, err=f"{word}\n")).kind.value == "unknown"


def test_a_crash_of_the_interpreter() -> None:
    crashed = ended(None, end=End.SIGNALED, number=signal.SIGSEGV)
    assert failure(crashed).cause == "it was killed by SIGSEGV"
    assert failure(crashed).kind.value == "unknown"
    deep = "Fatal Python error: _Py_CheckRecursiveCall: Cannot recover from stack overflow.\n"
    overflowed = ended(None, err=deep, end=End.SIGNALED, number=signal.SIGABRT)
    assert failure(overflowed).kind.value == "recursion"
    assert failure(ended(None, end=End.SIGNALED, number=64)).cause == "it was killed by SIGRTMAX"
    assert failure(ended(255)).cause == "exit code 255 without a word"


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
BROKEN = """\
==================================== ERRORS ====================================
_________________________ ERROR collecting test_shop.py __________________________
ImportError while importing test module '/work/test_shop.py'.
test_shop.py:1: in <module>
    import shop
E   ModuleNotFoundError: No module named 'shop'
=========================== short test summary info ============================
ERROR test_shop.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
=============================== 1 error in 0.12s ===============================
"""


def test_a_report_of_pytest() -> None:
    found = failure(ended(1, out=PYTEST))
    assert found.kind.value == "test_failure"
    assert found.cause == "1 of 3 tests failed: test_shop.py::test_total: TypeError: no"
    assert failure(ended(1, out="1 failed in 0.02s\n")).kind.value == "test_failure"
    assert failure(ended(5, out="===== no tests ran in 0.01s =====\n")).kind.value == "test_failure"


def test_a_test_file_that_cannot_be_collected_has_no_failed_tests() -> None:
    found = failure(ended(2, out=BROKEN))
    assert (found.kind.value, found.exception) == ("import", "ModuleNotFoundError")


def test_a_conftest_that_cannot_be_loaded_is_told_by_its_exception() -> None:
    said = "ImportError while loading conftest '/work/conftest.py'.\n"
    for last, expected in [
        ("SyntaxError: invalid syntax", "syntax"),
        ("ModuleNotFoundError: No module named 'x'", "import"),
    ]:
        found = failure(ended(4, err=f"{said}E   {last}\n"))
        assert (found.kind.value, found.cause) == (expected, last)


@pytest.mark.parametrize("counted", ["3 errors in 0.21s", "1 failed in 0.2s", "1 failed in 2s"])
def test_what_other_tools_count_is_no_report_of_pytest(counted: str) -> None:
    assert failure(ended(1, out=f"Found 3 errors.\n{counted}\n")).kind.value == "unknown"


@pytest.mark.parametrize(
    ("code", "expected"), [(124, "timeout"), (126, "file"), (127, "file"), (3, "unknown")]
)
def test_exit_codes_of_shells_are_those_of_command_lines(code: int, expected: str) -> None:
    assert classify(ended(code), {}, shell=True).kind.value == expected
    assert classify(ended(code), {}).kind.value == "unknown"


def test_a_program_that_judges_pytest_s_result_itself() -> None:
    assert failure(ended(1, PYTEST, stderr_of("assert 1 == 0"))).kind.value == "test_failure"
    child = "import subprocess\nraise subprocess.CalledProcessError(1, ['pytest'])"
    assert failure(ended(1, PYTEST, stderr_of(child))).kind.value == "test_failure"
    assert failure(ended(1, PYTEST, stderr_of("{}[1]"))).kind.value == "key"
    assert failure(ended(1, "3 passed in 0.1s\n", stderr_of("assert 0"))).kind.value == "assertion"


def test_a_report_of_unittest() -> None:
    told = "FAIL: test_a (t.T)\n" + stderr_of("assert 1 == 2")
    end = "\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n"
    found = failure(ended(1, err=told + end))
    assert (found.kind.value, found.cause) == (
        "test_failure",
        "unittest: failures=1 of 2 tests: test_a",
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import no_such_shop", "import"),
        ("1 + ''", "type"),
        ("def f(:", "syntax"),
        ("try: {}[1]\nexcept KeyError: nothing", "name"),
    ],
)
def test_what_unittest_cannot_import_has_no_failed_tests(code: str, expected: str) -> None:
    heading = "ERROR: test_a (unittest.loader._FailedTest.test_a)\n-----\n"
    heading += "ImportError: Failed to import test module: test_a\n"
    counted = "\nRan 1 test in 0.000s\n\nFAILED (errors=1)\n"
    found = failure(ended(err=f"E\n{heading}{stderr_of(code)}\n{counted}"))
    assert (found.kind.value, found.line) == (expected, code.count("\n") + 1)
    more = heading + stderr_of("[][1]")
    found = failure(ended(err=f"{heading}{stderr_of(code)}\n=====\n{more}{counted}"))
    assert found.kind.value == expected
    other = f"FAIL: test_b (t.T.test_b)\n-----\n{stderr_of('assert 0')}\n"
    found = failure(ended(err=f"{other}{heading}{stderr_of(code)}\n{counted}"))
    assert found.kind.value == "test_failure"


def test_doctests_that_failed_are_tests_that_failed() -> None:
    said = 'File "/work/sums.py", line 3, in sums.add\nFailed example:\n    add(1, 2)\n'
    said += "1 items had failures:\n   1 of   1 in sums.add\n***Test Failed*** 1 failures.\n"
    told = "doctest: 1 failed: sums.add (/work/sums.py, line 3)"
    assert (failure(ended(out=said)).kind.value, failure(ended(out=said)).cause) == (
        "test_failure",
        told,
    )


def test_colours_hide_no_report() -> None:
    red = "\x1b[31m\x1b[1m1 failed\x1b[0m\x1b[31m in 0.10s\x1b[0m\n"
    assert failure(ended(out=red)).kind.value == "test_failure"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("BrokenPipeError: [Errno 32] Broken pipe", "unknown"),  # `| head` had enough
        ("ConnectionResetError: [Errno 104] Connection reset by peer", "network_denied"),
        ("FloatingPointError: divide by zero encountered in scalar divide", "zero_division"),
        ("RuntimeWarning: divide by zero encountered in divide", "zero_division"),
        ("FloatingPointError: overflow encountered in exp", "value"),
        ("RuntimeWarning: Mean of empty slice", "unknown"),
    ],
)
def test_some_types_say_more_by_what_is_in_them(said: str, expected: str) -> None:
    text = f'Traceback (most recent call last):\n  File "/run/main.py", line 1\n{said}\n'
    assert failure(ended(err=text)).kind.value == expected


def test_of_many_reports_of_unittest_the_last_counts() -> None:
    red = "FAIL: test_{0} (t.T)\n-----\n\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n"
    green = "..\n-----\nRan 2 tests in 0.001s\n\nOK\n"
    assert failure(ended(err=red.format("a") + green)).kind.value == "unknown"
    for before in (green, red.format("a")):
        told = failure(ended(err=before + red.format("b"))).cause
        assert told == "unittest: failures=1 of 2 tests: test_b"


def test_a_child_that_was_killed() -> None:
    code = "import subprocess as s\nraise s.CalledProcessError(-9, ['x'])"
    assert kind(code) == "memory"
    crashed = stderr_of("{}[1]") + stderr_of(
        "import subprocess as s\nraise s.CalledProcessError(1, 'x')"
    )
    assert failure(ended(err=crashed)).kind.value == "key"


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("ValueError: bad", "value"),
        ("Error: division by zero", "zero_division"),
        ("/usr/bin/python: No module named pytest", "import"),
        ("error: [Errno 2] No such file or directory: 'a.csv'", "file"),
        ("failed: <urlopen error [Errno -2] Name or service not known>", "network_denied"),
        ("Note: something else", "unknown"),
        ("wrong answer", "unknown"),
    ],
)
def test_words_come_last(last: str, expected: str) -> None:
    assert failure(ended(err=f"starting\n{last}\n\n")).kind.value == expected
    assert failure(ended(err=f"{last}\nand then more\n")).kind.value == "unknown"


def test_the_place_in_the_program_is_told() -> None:
    told = (
        'Traceback (most recent call last):\n  File "/run/main.py", line 3, in <module>\n'
        '  File "/work/shop.py", line 7, in total\n'
        '    return item["price"]\n           ~~~~^^^^^^^^^\n'
        '  File "/opt/venv/lib/python3.11/site-packages/pandas/core/frame.py", line 1, in f\n'
        "KeyError: 'price'\n"
    )
    assert (
        failure(ended(err=told)).cause
        == "KeyError: 'price' (shop.py, line 7: return item[\"price\"])"
    )


def test_a_cause_is_one_line_of_bounded_length() -> None:
    cause = failure(ended(err=stderr_of("raise ValueError('a b ' * 9999)"))).fields()["cause"]
    assert len(cause) <= LONGEST_CAUSE
    assert "\n" not in cause


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
def test_every_end_has_a_class_whatever_was_printed(
    out: str, err: str, code: int, end: End
) -> None:
    number = 11 if end is End.SIGNALED else None
    found = classify(ended(code, out, err, end, number), {}).fields()
    assert found["class"]
    assert found["cause"]
    assert len(found["cause"].splitlines()) == 1


BEGUN = 'Traceback (most recent call last):\n  File "a.py", line '
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
def test_a_hostile_output_costs_no_more_than_its_length(piece: str) -> None:
    text = piece * (60_000 // len(piece)) + (" failed in 0.01s" if piece == "1" else "")
    begun = time.process_time()
    classify(ended(1, text, text), {"a.py": text.encode()})
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    "said",
    [
        "{} failed in 0.01s",
        f"{BEGUN}{{}}\nOSError: 1",
        f"{BEGUN}1\nOSError: [Errno {{}}] x",
        f"{BEGUN}1\nCalledProcessError: died with <Signals.A: {{}}>",
    ],
)
def test_a_number_without_end_is_no_number(said: str) -> None:
    text = said.format("9" * 5000)
    assert failure(ended(1, text, text)).cause
