"""`fettle bench`: how good the agent is at exercises with hidden tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from cli.client.service import Service
from cli.errors import CliError
from cli.exit_codes import FAILED
from cli.output import Screen, print_json
from cli.render.parts import Tone
from lab.evals import extra
from lab.evals.report import bars, tables
from lab.evals.report.comparing import compare
from lab.evals.report.results import Result, read
from lab.evals.report.summing import sum_up
from lab.evals.repos import canonical as repo_canonical
from lab.evals.repos import sets as repo_sets
from lab.evals.repos.job import lacking, worker
from lab.evals.repos.task import RepoSet
from lab.evals.repos.verifying import Verifying
from lab.evals.run import beginning, service
from lab.evals.run.canonical import Shown, canonical
from lab.evals.run.exercise_job import work
from lab.evals.run.hidden_tests import NotVerified
from lab.evals.run.request import Asked
from lab.evals.run.session import Session
from lab.evals.run.tries import E, Try
from lab.evals.sources import sets
from lab.evals.sources.exercise import ExerciseSet, TaskSet

RESULTS = Path("bench-results")
CACHE = Path("~/.cache/fettle").expanduser()
AT_ONCE = 8

PNG = click.option(
    "--png", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Draw it, too."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class Sets(click.Group):
    """What is no command of its own is a set of exercises."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command and its arguments; a set stays among them."""
        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return None, run, args


@click.group(
    cls=Sets,
    subcommand_metavar="SET|FILE.jsonl [OPTIONS] | compare A B | show FILE",
    epilog="SET is humaneval, mbpp, custom or repos; `fettle bench SET --help` lists the options.",
)
def command() -> None:
    """Measure how good the agent is: exercises as jobs, judged by tests that it never sees."""


@click.command(name="SET")
@click.argument("name", metavar="SET|FILE.jsonl")
@click.option("--model", metavar="P:M", help="The model that works, provider:model.")
@click.option(
    "--data",
    metavar="PATH",
    type=click.Path(exists=True, path_type=Path),
    help="The file of HumanEval or MBPP; the folder of tasks on repositories.",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="The first N exercises alone.")
@click.option("--no-repair", is_flag=True, help="Each job ends with its first run.")
@click.option(
    "--repeat", type=click.IntRange(1), default=1, metavar="K", help="Try each K times: pass@k."
)
@click.option("--judge", metavar="P:M", help="A model that scores, 0 to 3, what has no tests.")
@click.option("--canonical", "shipped", is_flag=True, help="Try the shipped solutions; no model.")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=RESULTS,
    show_default=True,
    help="Where results are kept; the same command goes on with them.",
)
@click.option("--fresh", is_flag=True, help="Put earlier results aside, and start again.")
@click.option(
    "--at-once", type=click.IntRange(1, 64), default=AT_ONCE, show_default=True, metavar="N"
)
@JSON
@click.pass_obj
def run(flags: Mapping[str, Any], /, name: str, *, as_json: bool, **options: Any) -> int:
    """Work on a set of exercises (humaneval, mbpp, custom, repos, a file of your own), and judge.

    With --url or FETTLE_URL the jobs go to that service, else to one that is started for them. Each
    result is kept at once: after a crash the same command continues, and pays for nothing twice.
    """
    screen = Screen(stderr=as_json)
    shown: dict[str, Any] = {"as_json": as_json, "options": options}
    if name == repo_sets.NAME:
        if options["judge"]:
            raise click.UsageError("--judge is for exercises without tests")
        with repo_sets.loaded(options["data"]) as tasks, Verifying() as verifying:
            if options["shipped"]:
                return _shipped_fixes(screen, tasks, verifying, **shown)
            warning = lacking(tasks.exercises)
            return _measured(flags, screen, tasks, worker(verifying), warning=warning, **shown)
    of = sets.load(name, options["data"], CACHE)
    if options["shipped"]:
        return _shipped(flags, screen, of, **shown)
    return _measured(flags, screen, of, work, **shown)


def _measured(
    flags: Mapping[str, Any],
    screen: Screen,
    of: TaskSet[E],
    work: Callable[[Service, Asked, Try[E]], Result],
    *,
    as_json: bool,
    options: Mapping[str, Any],
    **more: Any,
) -> int:
    if not options["model"]:
        raise click.UsageError("name the model that works: --model provider:model")
    asked = Asked(options["model"], repair=not options["no_repair"], judge=options["judge"])
    file = beginning.path(options["out"], of, asked)
    if options["fresh"]:
        beginning.put_aside(file)
    exercises = of.exercises[: options["limit"]]
    repeats, at_once = options["repeat"], options["at_once"]
    session = Session(of, exercises, work, asked, repeats, at_once, file, **more)
    session.run(service.named(flags), screen)
    png = file.with_suffix(".png")
    return _shown(screen, file, as_json=as_json, png=png, wanted=False)


@command.command()
@click.argument("file", type=FILE)
@PNG
@JSON
def show(file: Path, *, png: Path | None, as_json: bool) -> int:
    """Show a file of results again."""
    return _shown(Screen(stderr=as_json), file, as_json=as_json, png=png, wanted=True)


@command.command(name="compare")
@click.argument("first", metavar="A", type=FILE)
@click.argument("second", metavar="B", type=FILE)
@PNG
@JSON
def compared(first: Path, second: Path, *, png: Path | None, as_json: bool) -> None:
    """Compare the results A and B, exercise by exercise: what differs, and whether by chance."""
    screen = Screen(stderr=as_json)
    one, other = read(first), read(second)
    pairs = compare(one, other)
    if not pairs:
        raise CliError("there is nothing to compare", "no exercise is judged in both")
    names = bars.names_of(one, other)
    tables.show_compared(screen, pairs, names)
    _drawn(screen, bars.of_two(pairs, names), png, wanted=png is not None)
    if as_json:
        print_json(
            {"first": names[0], "second": names[1], "measures": [p.as_fields() for p in pairs]}
        )


def _shown(screen: Screen, file: Path, *, as_json: bool, png: Path | None, wanted: bool) -> int:
    """The table and the plot of a file; 1 where something was not measured."""
    header, results = read(file)
    summary = sum_up(header, results)
    tables.show(screen, header, summary)
    drawing = bars.of_one(header, summary)
    if drawing is not None:
        _drawn(screen, drawing, png, wanted=wanted and png is not None)
    screen.line("results", str(file))
    if as_json:
        as_fields = {"set": dict(header.set), "settings": dict(header.settings), "file": str(file)}
        print_json({**as_fields, **summary.as_fields()})
    return FAILED if summary.not_measured else 0


def _drawn(screen: Screen, drawing: bars.Bars, png: Path | None, *, wanted: bool) -> None:
    """The plot; where its libraries are missing and nobody asked for it, how to have it."""
    try:
        plots = extra.plots()
    except CliError as error:
        if wanted:
            raise
        screen.line("no plot", f"{error.detail}: {error.next_step}", Tone.QUIET)
        return
    if screen.drawing:
        screen.text(plots.terminal(drawing, screen.console.width))
    if png is not None:
        plots.png(png, drawing)
        screen.line("plot", str(png))


def _shipped(
    flags: Mapping[str, Any],
    screen: Screen,
    of: ExerciseSet,
    *,
    as_json: bool,
    options: Mapping[str, Any],
) -> int:
    exercises = [each for each in of.exercises if each.tests and (each.right or each.wrong)]
    if not exercises:
        raise CliError(f"{of.name} has no solutions", "no exercise in it has `right` and `tests`")

    def shown(one: Shown) -> None:
        if not one.well:
            screen.line(one.kind, f"{one.exercise}: {one.why or 'passes'}", Tone.BAD)

    with service.running(service.named(flags), screen, None) as running:
        try:
            done = canonical(running, exercises[: options["limit"]], options["at_once"], shown)
        except NotVerified as error:
            raise CliError("the service could not run the tests", str(error)) from None
    wrong = f", {done.wrong} wrong ones found out" if done.wrong else ""
    tone = Tone.GOOD if done.passed == done.tasks else Tone.BAD
    screen.line("canonical", f"{done.passed} of {done.tasks} pass{wrong}", tone)
    if as_json:
        print_json(done.as_fields())
    return 0 if done.passed == done.tasks else FAILED


def _shipped_fixes(
    screen: Screen,
    of: RepoSet,
    verifying: Verifying,
    *,
    as_json: bool,
    options: Mapping[str, Any],
) -> int:
    """The shipped fix of each task on a repository, and the task without it."""

    def shown(one: repo_canonical.Shown) -> None:
        took = f"{one.seconds:.1f} s"
        screen.line("task", f"{one.task}: {one.why or took}", Tone.BAD if one.why else Tone.GOOD)
        if one.note:
            screen.line("note", f"{one.task}: {one.note}", Tone.WARN)

    tasks, at_once = of.exercises[: options["limit"]], options["at_once"]
    try:
        done = repo_canonical.canonical(verifying, tasks, at_once, shown)
    except NotVerified as error:
        raise CliError("the tests could not be run", str(error)) from None
    tone = Tone.GOOD if done.passed == done.tasks else Tone.BAD
    screen.line("canonical", f"{done.passed} of {done.tasks} pass, and fail without the fix", tone)
    if as_json:
        print_json(done.as_fields())
    return 0 if done.passed == done.tasks else FAILED
