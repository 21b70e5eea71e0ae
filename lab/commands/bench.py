"""`fettle bench`: how good the agent is at exercises with hidden tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from cli.errors import CliError
from cli.exit_codes import FAILED
from cli.output import Screen, print_json
from cli.render.parts import Tone
from fettle import Service
from lab.evals import extra
from lab.evals.laboratory import OWN_FILE, BenchLaboratory
from lab.evals.report import bars, tables
from lab.evals.report.comparing import compare
from lab.evals.report.results import Result, read_results
from lab.evals.report.summing import sum_up
from lab.evals.repos import canonical as repo_canonical
from lab.evals.repos import scripted
from lab.evals.repos import sets as repo_sets
from lab.evals.repos.job import lacking_setups, worker
from lab.evals.repos.task import RepoSet
from lab.evals.repos.verifying import Verifying
from lab.evals.run import beginning, service
from lab.evals.run.canonical import SolutionCheck, check_solutions
from lab.evals.run.exercise_job import work_on_exercise
from lab.evals.run.hidden_tests import NotVerified
from lab.evals.run.request import MeasurementRequest
from lab.evals.run.session import BenchSession
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
    """Accepts each word that is not a command as the name of a set of exercises."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command and its arguments; the name of a set stays an argument."""
        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return None, run_set, args


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
@click.option("--write-tests", is_flag=True, help="A tester writes tests before the work.")
@click.option("--parallel", is_flag=True, help="Independent steps run in parallel.")
@click.option("--follow-up", is_flag=True, help="Tasks on repositories: in two jobs each.")
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
@click.option(
    "--detach", is_flag=True, help="Let a worker of the service measure, as one job; see its page."
)
@click.option("--budget", metavar="USD", help="With --detach: start no exercise beyond this cost.")
@click.option("--fresh", is_flag=True, help="Put earlier results aside, and start again.")
@click.option(
    "--at-once", type=click.IntRange(1, 64), default=AT_ONCE, show_default=True, metavar="N"
)
@JSON
@click.pass_obj
def run_set(flags: Mapping[str, Any], /, name: str, *, as_json: bool, **options: Any) -> int:
    """Work on a set of exercises (humaneval, mbpp, custom, repos, a file of your own), and judge.

    With --url or FETTLE_URL the jobs go to that service, else to one that is started for them. Each
    result is kept at once: after a crash the same command continues, and pays for nothing twice.
    """
    screen = Screen(stderr=as_json)
    output: dict[str, Any] = {"as_json": as_json, "options": options}
    if name == repo_sets.NAME:
        if options["judge"]:
            raise click.UsageError("--judge is for exercises without tests")
        with repo_sets.loaded(options["data"]) as tasks, Verifying() as verifying:
            if options["shipped"]:
                return _check_shipped_fixes(flags, screen, tasks, verifying, **output)
            warning = lacking_setups(tasks.exercises)
            return _measure(flags, screen, tasks, worker(verifying), warning=warning, **output)
    if options["follow_up"]:
        raise click.UsageError("--follow-up is for tasks on repositories")
    of = sets.load(name, options["data"], CACHE)
    if options["detach"]:
        return _submit_benchmark(flags, screen, name, **output)
    if options["shipped"]:
        return _check_shipped_solutions(flags, screen, of, **output)
    return _measure(flags, screen, of, work_on_exercise, **output)


def _measure(
    flags: Mapping[str, Any],
    screen: Screen,
    of: TaskSet[E],
    work: Callable[[Service, MeasurementRequest, Try[E]], Result],
    *,
    as_json: bool,
    options: Mapping[str, Any],
    **more: Any,
) -> int:
    if not options["model"]:
        raise click.UsageError("name the model that works: --model provider:model")
    request = MeasurementRequest(
        options["model"],
        repair=not options["no_repair"],
        judge=options["judge"],
        write_tests=options["write_tests"],
        parallel=options["parallel"],
        follow_up=options["follow_up"],
    )
    file = beginning.result_path(options["out"], of, request)
    if options["fresh"]:
        beginning.put_aside(file)
    exercises = of.exercises[: options["limit"]]
    repeats, at_once = options["repeat"], options["at_once"]
    session = BenchSession(of, exercises, work, request, repeats, at_once, file, **more)
    session.run(service.named_service(flags), screen)
    png = file.with_suffix(".png")
    return _show_file(screen, file, as_json=as_json, png=png, requires_plot=False)


def _submit_benchmark(
    flags: Mapping[str, Any],
    screen: Screen,
    name: str,
    *,
    as_json: bool,
    options: Mapping[str, Any],
) -> int:
    """Submit the measurement as a job of the named service (ADR 94)."""
    settings = service.named_service(flags)
    if settings is None:
        next_step = "name it: fettle --url URL bench ..., or FETTLE_URL"
        raise CliError("--detach needs a running service", next_step=next_step)
    path = sets.data_file(name, options["data"], CACHE)
    terms = {name: options[name] for name in ("limit", "repeat", "at_once")}
    is_known = path is None or name in BenchLaboratory.sets
    terms |= {"set": name if is_known else OWN_FILE, "budget_usd": options["budget"]}
    spec = {"task": f"Benchmark: {name}", "model": options["model"], "benchmark": terms}
    repair = {"repair": False} if options["no_repair"] else {}
    files = {path.name: path.read_bytes()} if path else None
    with service.running(settings, screen, None) as api:
        job = api.submit({**spec, **repair}, files)
    screen.line("benchmark", f"{settings.url.rstrip('/')}/app/benchmarks/{job['id']}")
    if as_json:
        print_json(dict(job))
    return 0


@command.command()
@click.argument("file", type=FILE)
@PNG
@JSON
def show(file: Path, *, png: Path | None, as_json: bool) -> int:
    """Show a file of results again."""
    return _show_file(Screen(stderr=as_json), file, as_json=as_json, png=png, requires_plot=True)


@command.command(name="compare")
@click.argument("first", metavar="A", type=FILE)
@click.argument("second", metavar="B", type=FILE)
@PNG
@JSON
def compare_command(first: Path, second: Path, *, png: Path | None, as_json: bool) -> None:
    """Compare the results A and B, exercise by exercise: the differences, and whether they may be
    due to chance.
    """
    screen = Screen(stderr=as_json)
    first_results, second_results = read_results(first), read_results(second)
    pairs = compare(first_results, second_results)
    if not pairs:
        raise CliError("there is nothing to compare", "no exercise is judged in both")
    names = bars.names_of(first_results, second_results)
    tables.show_comparison(screen, pairs, names)
    _draw(screen, bars.bars_of_comparison(pairs, names), png, is_required=png is not None)
    if as_json:
        print_json(
            {"first": names[0], "second": names[1], "measures": [p.as_fields() for p in pairs]}
        )


def _show_file(
    screen: Screen, file: Path, *, as_json: bool, png: Path | None, requires_plot: bool
) -> int:
    """Show the table and the plot of a file. Returns 1 if an exercise was not measured."""
    header, results = read_results(file)
    summary = sum_up(header, results)
    tables.show_results(screen, header, summary)
    drawing = bars.bars_of_results(header, summary)
    if drawing is not None:
        _draw(screen, drawing, png, is_required=requires_plot and png is not None)
    screen.line("results", str(file))
    if as_json:
        as_fields = {"set": dict(header.set), "settings": dict(header.settings), "file": str(file)}
        print_json({**as_fields, **summary.as_fields()})
    return FAILED if summary.not_measured else 0


def _draw(screen: Screen, drawing: bars.Bars, png: Path | None, *, is_required: bool) -> None:
    """Draw the plot. If its libraries are missing and the user did not request it, name the command
    that installs them.
    """
    try:
        plots = extra.plots()
    except CliError as error:
        if is_required:
            raise
        screen.line("no plot", f"{error.detail}: {error.next_step}", Tone.QUIET)
        return
    if screen.drawing:
        screen.text(plots.terminal(drawing, screen.console.width))
    if png is not None:
        plots.png(png, drawing)
        screen.line("plot", str(png))


def _check_shipped_solutions(
    flags: Mapping[str, Any],
    screen: Screen,
    of: ExerciseSet,
    *,
    as_json: bool,
    options: Mapping[str, Any],
) -> int:
    exercises = [
        exercise
        for exercise in of.exercises
        if exercise.tests and (exercise.right or exercise.wrong)
    ]
    if not exercises:
        raise CliError(f"{of.name} has no solutions", "no exercise in it has `right` and `tests`")

    def report_solution(check: SolutionCheck) -> None:
        if not check.well:
            screen.line(check.kind, f"{check.exercise}: {check.problem or 'passes'}", Tone.BAD)

    with service.running(service.named_service(flags), screen, None) as running:
        try:
            done = check_solutions(
                running, exercises[: options["limit"]], options["at_once"], report_solution
            )
        except NotVerified as error:
            raise CliError("the service could not run the tests", str(error)) from None
    wrong = f", {done.wrong} wrong ones found out" if done.wrong else ""
    tone = Tone.GOOD if done.passed == done.tasks else Tone.BAD
    screen.line("canonical", f"{done.passed} of {done.tasks} pass{wrong}", tone)
    if as_json:
        print_json(done.as_fields())
    return 0 if done.passed == done.tasks else FAILED


def _check_shipped_fixes(
    flags: Mapping[str, Any],
    screen: Screen,
    of: RepoSet,
    verifying: Verifying,
    *,
    as_json: bool,
    options: Mapping[str, Any],
) -> int:
    """Check the shipped fix of each task on a repository, and the task without the fix. With
    `--parallel` or `--follow-up`, check that jobs combine two halves of the fix."""

    def report_fix(check: repo_canonical.FixCheck) -> None:
        took = f"{check.seconds:.1f} s"
        screen.line(
            "task",
            f"{check.task}: {check.problem or took}",
            Tone.BAD if check.problem else Tone.GOOD,
        )
        if check.note:
            screen.line("note", f"{check.task}: {check.note}", Tone.WARN)

    tasks, at_once = of.exercises[: options["limit"]], options["at_once"]
    parallel, follow_up = options["parallel"], options["follow_up"]
    if options["write_tests"] or (parallel and follow_up):
        raise click.UsageError("--canonical goes with one of --parallel and --follow-up")
    in_halves = parallel or follow_up
    if in_halves and service.named_service(flags) is not None:
        raise click.UsageError("--canonical in two halves starts its own service: leave out --url")
    try:
        if in_halves:
            request = scripted.request_of(parallel=parallel, follow_up=follow_up)
            with scripted.running_service(tasks, screen, follow_up=follow_up) as running:
                done = repo_canonical.check_halves(
                    running, request, verifying, tasks, at_once, report_fix
                )
        else:
            done = repo_canonical.check_fixes(verifying, tasks, at_once, report_fix)
    except NotVerified as error:
        raise CliError("the tests could not be run", str(error)) from None
    tone = Tone.GOOD if done.passed == done.tasks else Tone.BAD
    claim = "pass in two halves" if in_halves else "pass, and fail without the fix"
    screen.line("canonical", f"{done.passed} of {done.tasks} {claim}", tone)
    if as_json:
        print_json(done.as_fields())
    return 0 if done.passed == done.tasks else FAILED
