"""Results and comparisons as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from api.quantities import duration, money, plural
from cli.output import Screen
from cli.render.parts import Tone
from lab.evals.report.comparing import Paired
from lab.evals.report.results import Header
from lab.evals.report.statistics import Rate
from lab.evals.report.summing import ResultSummary

NAMES_SHOWN = 12


def show_results(screen: Screen, header: Header, summary: ResultSummary) -> None:
    """A measurement as a table, with cost and time."""
    settings = header.settings
    repair = "repair" if settings["repair"] else "no repair"
    screen.title(f"{header.set['name']}, {settings['model']}, {repair}")
    screen.rows(("", "PASS@1", "95 % INTERVAL", "OF"), _rows(summary))
    for k, (first, final) in summary.at_k.items():
        attempt = "" if first is None else f"{first:.1%} first attempt, "
        screen.line(f"pass@{k}", f"{attempt}{final:.1%} at the end")
    if summary.score is not None:
        screen.line("judge", f"{summary.score:.2f} of 3, over {summary.scored}, {_judge(summary)}")
    if summary.failures:
        listed = ", ".join(f"{name} {count}" for name, count in summary.failures.items())
        screen.line("failures", f"of first attempts: {listed}")
    if set(summary.models) - {settings["model"]}:
        listed = ", ".join(f"{name} in {count}" for name, count in summary.models.items())
        screen.line("models", f"another model than the requested one answered: {listed}", Tone.WARN)
    tokens = f"{summary.input_tokens:,} tokens in, {summary.output_tokens:,} out"
    screen.line("cost", f"{money(summary.cost_usd)}, {plural(summary.calls, 'call')}, {tokens}")
    worked, job = duration(summary.worked_seconds), duration(summary.job_seconds)
    screen.line("time", f"median of a job: {worked} running, {job} from submission to end")
    if summary.not_measured:
        listed = ", ".join(f"{reason} {count}" for reason, count in summary.not_measured.items())
        screen.line("missing", f"not measured: {listed}; the same command tries again", Tone.BAD)


def show_comparison(screen: Screen, pairs: Sequence[Paired], names: tuple[str, str]) -> None:
    """A paired comparison: rates, their difference, and the exercises that differ."""
    heads = ("", *names, "DIFFERENCE", "95 % INTERVAL", "P", "OF")
    screen.rows(
        heads,
        (
            (
                pair.measure,
                f"{pair.first.share:.1%}",
                f"{pair.second.share:.1%}",
                f"{100 * pair.difference.share:+.1f} points",
                f"{100 * pair.difference.low:+.1f} to {100 * pair.difference.high:+.1f}",
                f"{pair.p:.3g}",
                str(pair.shared),
            )
            for pair in pairs
        ),
    )
    for pair in pairs:
        for name, exercises in zip(names, (pair.only_first, pair.only_second), strict=True):
            if exercises:
                screen.line(
                    pair.measure, f"only {name} passes {len(exercises)}: {_names(exercises)}"
                )


def _rows(summary: ResultSummary) -> Iterator[tuple[str, str, str, str]]:
    def row(name: str, rate: Rate | None) -> Iterator[tuple[str, str, str, str]]:
        if rate is not None:
            of = str(summary.measured) if "," not in name else ""
            yield name, f"{rate.share:.1%}", f"{rate.low:.1%} to {rate.high:.1%}", of

    yield from row("first attempt", summary.first)
    yield from row("at the end", summary.final)
    for level, (first, final) in summary.levels.items():
        yield from row(f"{level}, first attempt", first)
        yield from row(f"{level}, at the end", final)


def _judge(summary: ResultSummary) -> str:
    return f"for {money(summary.judge_usd)}"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more
