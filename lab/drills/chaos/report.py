"""The output of a chaos run: a line now and then, tables at the end, then one JSON object."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from cli.output import Screen
from cli.render.parts import Tone
from lab.drills.chaos.checks.checker import CHECKS, Violation
from lab.drills.chaos.drill import ChaosOutcome
from lab.drills.chaos.progress import Progress

LINE_SECONDS = 10.0
VIOLATIONS_SHOWN = 20
LATE = (
    "late, and nothing lost: a machine that others use, too, needs more time. --slack SECONDS says "
    "how much a recovery may take beyond lease and sweep"
)


@contextlib.contextmanager
def watching(screen: Screen, progress: Progress) -> Iterator[None]:
    """Show the progress from a separate thread until the block ends."""
    over = threading.Event()

    def lines() -> None:
        while not over.wait(LINE_SECONDS):
            screen.line("chaos", progress.line())

    thread = threading.Thread(target=lines, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def show(screen: Screen, outcome: ChaosOutcome) -> None:
    """Show the tables of jobs, faults, rules, repeats and recoveries."""
    verdict = outcome.verdict
    screen.title("jobs")
    screen.rows(
        ("JOBS", "HOW THEY ENDED"),
        [(str(count), status) for status, count in sorted(verdict.statuses.items())],
    )
    screen.title("faults")
    screen.rows(
        ("TIMES", "PLANNED", "FAULT"),
        [
            (str(outcome.faults.get(kind, 0)), str(outcome.planned.get(kind, 0)), kind)
            for kind in sorted(outcome.faults.keys() | outcome.planned.keys())
        ],
    )
    screen.title("rules")
    broken = Counter(violation.rule for violation in verdict.violations)
    screen.rows(
        ("RULE", "VIOLATIONS"),
        [(rule, str(broken[rule] or "none")) for rule in CHECKS],
    )
    screen.text()
    for violation in verdict.violations[:VIOLATIONS_SHOWN]:
        text = f"{violation.job_id} {violation.text}".strip()
        screen.line(violation.rule, text, Tone.BAD)
    if late_alone(verdict.violations):
        screen.line("", LATE)
    for reason, times in sorted(outcome.undone.items()):
        screen.line("failed", f"{times} jobs, although nobody rejected them: {reason}", Tone.BAD)
    if not outcome.attacked:
        text = (
            f"{outcome.kills} of {outcome.kills_planned} kills found a worker, {verdict.jobs} jobs"
        )
        screen.line("attack", f"{text}: too little was broken to show anything", Tone.BAD)
    for failure in outcome.failures[:VIOLATIONS_SHOWN]:
        screen.line("client", failure, Tone.BAD)
    for name, times in sorted(outcome.unasked.items()):
        screen.line("note", f"the {name} ended {times} times by itself, and was started again")
    _sums(screen, outcome)


def _sums(screen: Screen, outcome: ChaosOutcome) -> None:
    verdict = outcome.verdict
    calls = (
        f"{verdict.repeated_paid_calls} paid again although on record, "
        f"{verdict.repeated_in_flight} that were in flight when their worker was lost"
    )
    screen.line("calls", calls)
    took = verdict.recoveries
    p50, most = verdict.recovery_p50, verdict.recovery_max
    recovered = f"p50 {p50:.1f} s, worst {most:.1f} s, of {len(took)}" if p50 and most else "none"
    screen.line("recovery", recovered)
    if alone := verdict.recoveries_alone:
        text = f"{len(alone)} of these had crashed twice and ran alone, worst {max(alone):.1f} s"
        screen.line("alone", text)
    survivors = sum(violation.rule == "J14" for violation in verdict.violations)
    sandboxes = f"{survivors or 'no'} processes of workers or sandboxes; containers are not counted"
    screen.line("left", sandboxes)
    screen.line("retried", f"{verdict.retried} jobs that had failed or were cancelled")
    jobs = f"{verdict.jobs} jobs, {outcome.kills} kills in {outcome.seconds:.0f} s"
    if outcome.passed:
        screen.line("passed", f"{jobs}: none lost, none finished twice", Tone.GOOD)
    else:
        lost = f"{len(verdict.lost)} lost, {len(verdict.finished_twice)} finished twice"
        text = f"{jobs}: {lost}, {len(verdict.violations)} violations"
        screen.line("failed", text, Tone.BAD)


def late_alone(violations: Sequence[Violation]) -> bool:
    """Whether the only violations are jobs that continued late."""
    return {violation.rule for violation in violations} == {"J8"}


def plain(outcome: ChaosOutcome, seed: int) -> dict[str, Any]:
    """The object of `--json`."""
    verdict = outcome.verdict
    return {
        "passed": outcome.passed,
        "seed": seed,
        "seconds": round(outcome.seconds, 1),
        "jobs": verdict.jobs,
        "statuses": dict(verdict.statuses),
        "failed_for": dict(verdict.reasons),
        "retried": verdict.retried,
        "kills": outcome.kills,
        "whole_worker_kills": outcome.faults.get("worker-kill", 0),
        "kills_planned": outcome.kills_planned,
        "faults": dict(outcome.faults),
        "missed": dict(outcome.missed),
        "lost": len(verdict.lost),
        "finished_twice": len(verdict.finished_twice),
        "violations": len(verdict.violations),
        "violations_by_rule": dict(Counter(v.rule for v in verdict.violations)),
        "repeated_paid_calls": verdict.repeated_paid_calls,
        "repeated_in_flight": verdict.repeated_in_flight,
        "recoveries": len(verdict.recoveries),
        "recovery_s_p50": _round(verdict.recovery_p50),
        "recovery_s_max": _round(verdict.recovery_max),
        "recoveries_alone": len(verdict.recoveries_alone),
        "recovery_alone_s_max": _round(max(verdict.recoveries_alone, default=None)),
        "ended_by_themselves": dict(outcome.unasked),
        "client_failures": len(outcome.failures),
    }


def _round(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 2)
