"""The texts that models and people read about a run: its outcome, output and files, and the results
of its tests. Pure.

The texts contain no times and no ids, so that equal runs have equal texts. Passed tests are only
counted, because every later request repeats the text.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import indent
from typing import Any

from agents.paths import visible
from agents.runs.program import ProgramResult
from agents.runs.pytest_runs import PytestReport, ReportedTest, counted
from agents.runs.shell_marks import MarkedResult
from agents.texts import fitting, heads_and_tails
from sandbox.protocol import MIB, End, Limits, RunResult, Stream

MOST_NAMES = 40
"""Names of files, or of tests with one outcome, in one list."""


def run_report(
    result: RunResult,
    refused: Sequence[str],
    limits: Limits,
    width: int,
    shell: MarkedResult | None = None,
) -> str:
    """How a run ended, its output, its files.

    `width` bounds each output, and each list of files, in characters. In the output of a command
    line, `shell`, each command has its own head and tail.
    """
    end = ending(result.end, result.exit_code, result.signal, limits)
    parts = [f"{end}: {shell.note}" if shell and shell.note else end]
    out, err = (shell.stdout, shell.stderr) if shell else ((), ())
    for name, stream, texts in (("stdout", result.stdout, out), ("stderr", result.stderr, err)):
        if stream.text.strip() or stream.dropped_bytes:
            parts.append(f"{name}:\n{_render_stream(stream, texts, width)}")
    parts += file_lines(result, refused, width)
    if len(parts) == 1:
        parts.append("no output, no new files")
    return "\n\n".join(parts)


def file_lines(result: RunResult, refused: Sequence[str], width: int) -> list[str]:
    """The files that a run changed, deleted, or left and that are `refused`: a line for each."""
    lines: list[str] = []
    links = (f"{visible(path)} -> {visible(target)}" for path, target in result.links.items())
    if changed := sorted([*map(visible, result.changed), *links]):
        names = _join_names(changed, ", ", width, " (list_dir)")
        lines.append(f"new or changed files: {names}")
    if result.deleted:
        deleted = list(map(visible, sorted(result.deleted)))
        lines.append("deleted files: " + _join_names(deleted, ", ", width))
    if refused:
        lines.append("not kept: " + _join_names(refused, "; ", width))
    return lines


def ending_of(run: Mapping[str, Any], limits: Limits) -> str:
    """How a recorded run ended; `limits` are the job's, a run may have had less time."""
    seconds = run.get("wall_seconds", limits.wall_seconds)
    run_limits = replace(limits, wall_seconds=seconds)
    return ending(run["end"], run["exit_code"], run["signal"], run_limits)


def ending(end: str, exit_code: int | None, number: int | None, limits: Limits) -> str:
    """How a run ended."""
    match End(end):
        case End.EXITED:
            return f"exit code {exit_code}"
        case End.SIGNALED:
            return f"killed by signal {_signal(number)}"
        case End.TIMEOUT:
            return f"stopped: it ran for longer than {limits.wall_seconds:g} s"
        case End.CPU:
            return f"stopped: it used more than {limits.cpu_seconds} s of processor time"
        case End.MEMORY:
            return f"stopped: it used more than {limits.memory_bytes // MIB} MiB of memory"
        case End.OUTPUT:
            return f"stopped: it printed far more than is kept ({limits.output_bytes // 1024} KiB)"
        case End.DISK:
            return f"stopped: its files took more than {limits.workspace_bytes // MIB} MiB"
        case End.PROCESSES:
            return f"failed with all of its {limits.processes} processes and threads in use"
        case End.KILLED:
            return "stopped: it was killed from outside"


def _join_names(names: Sequence[str], separator: str, width: int, remedy: str = "") -> str:
    """The first names, and the number of the others; `remedy` names a tool that lists them."""
    first_names = fitting(list(names[:MOST_NAMES]), width)
    more = len(names) - len(first_names)
    return separator.join(first_names) + (f" and {more} more{remedy}" if more else "")


def _signal(number: int | None) -> str:
    try:
        return f"{number} ({signal.Signals(number or 0).name})"
    except ValueError:
        return str(number)


def _render_stream(stream: Stream, texts: Sequence[str], width: int) -> str:
    *earlier, last = texts or [stream.text]
    text = heads_and_tails([*earlier, last.rstrip("\n")], width)
    if stream.dropped_bytes:
        return f"{text}\n[{stream.dropped_bytes} bytes more were not kept]"
    return text


SLOW_SECONDS = 10.0
"""The report of a longer run names its slowest tests."""
SLOWEST = 5
MOST_SKIPPED = 10
"""Skipped tests that are listed: many projects skip the same tests in each run."""
_FAILED = ("failed", "error")


def program_answer(
    program_result: ProgramResult,
    result: RunResult,
    refused: Sequence[str],
    limits: Limits,
    width: int,
) -> str:
    """The answer for a program that may run pytest. `result` and `refused` have the files that were
    kept of the run."""
    if program_result.report is None:
        return run_report(result, refused, limits, width, program_result.shell)
    return pytest_answer(
        program_result.report, program_result.problem, result, refused, limits, width
    )


def pytest_answer(
    report: PytestReport,
    problem: str | None,
    result: RunResult,
    refused: Sequence[str],
    limits: Limits,
    width: int,
) -> str:
    """`problem` says why the tests have not passed, see `pytest_runs.why_failed`; about `width`
    characters. Without a failed test, the output says more than the report."""
    tests = report.tests or []
    failed = [test for test in tests if test.outcome in _FAILED]
    parts = [f"not passed: {problem}" if problem else f"passed: {counted(report.counts)}"]
    parts += _failures(failed, width)
    skipped = [test for test in tests if test.outcome == "skipped"]
    parts += _titled_list(
        "skipped", [f"{test.id}{_skip_reason(test)}" for test in skipped], MOST_SKIPPED
    )
    if not failed:
        parts += _titled_list("not run", [test.id for test in tests if test.outcome == "not_run"])
    if result.seconds >= SLOW_SECONDS:
        slowest = sorted(tests, key=lambda test: -test.seconds)[:SLOWEST]
        parts += _titled_list("slowest", [f"{test.seconds:.1f} s {test.id}" for test in slowest])
    text = "\n".join(parts)
    if problem and (not failed or result.end is not End.EXITED):
        return f"{text}\n\n{run_report(result, refused, limits, width)}"
    return "\n\n".join([text, *file_lines(result, refused, width)])


def _failures(failed: Sequence[ReportedTest], width: int) -> list[str]:
    """The first failures, and the names of the others. A failure has its lines unless an earlier
    test failed in the same way."""
    blocks, details, remaining = list[str](), set[str](), width
    for test in failed:
        if test.detail and test.detail in details:
            block = f"{test.outcome} {test.id}: as above"
        else:
            lines = indent(test.lines or test.detail, "    ")
            block = f"{test.outcome} {test.id}\n{lines}".rstrip()
        remaining -= len(block)
        if remaining < 0:
            names = [test.id for test in failed[len(blocks) :]]
            return [*blocks, *_titled_list("failed, too", names)]
        details.add(test.detail)
        blocks.append(block)
    return blocks


def _titled_list(title: str, names: Sequence[str], most: int = MOST_NAMES) -> list[str]:
    """The title, a line for each of the first `most` names, and the number of the others."""
    if not names:
        return []
    lines = [f"    {name}" for name in names[:most]]
    more = [f"    [{len(names) - len(lines)} more]"] if len(names) > len(lines) else []
    return [f"{title}:", *lines, *more]


def _skip_reason(test: ReportedTest) -> str:
    reason = test.detail.removeprefix("Skipped: ").partition("\n")[0]
    return f" ({reason})" if reason else ""
