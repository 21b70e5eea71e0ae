"""`python -m lab.benchmarks.sandbox [--json]`: fresh isolated runs, compared with a bare
interpreter.

Keys of the JSON line: `*_print_ratio` and `*_plot_ratio` of each backend (a ready sandbox
over the baseline), `local_runs_per_s_ratio_1` and `_2` (sustained), `docker_cold_ratio` (an empty
pool, `print(1)`), and both sides of each. Medians; a ratio is sandboxed over baseline.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import click
import uvloop

from cli.output import Screen, print_json
from lab.benchmarks.sandbox import figures, turns
from lab.benchmarks.sandbox.baseline import ProcessBaseline
from lab.benchmarks.sandbox.figures import Figure
from lab.benchmarks.sandbox.programs import PLOT, PRINT
from lab.benchmarks.sandbox.turns import Fresh, Pace
from lab.drills.engine import engine
from lab.drills.outer import report_errors
from settings.sandbox import Backend, SandboxSettings
from worker.adapters.backend import backend

HEADS = ("WHAT", "SANDBOX", "BARE", "RATIO", "GOAL", "")
RESTS = {Backend.LOCAL: 0.3, Backend.DOCKER: 1.5}
"""The pause in seconds before each run, in which a backend replaces a used sandbox."""
COLD_REST = 0.3


@asynccontextmanager
async def _backend(settings: SandboxSettings, count: int) -> AsyncIterator[Fresh]:
    sandbox = backend(settings.model_copy(update={"sandbox_rooms": count}), ready_for=turns.LIMITS)
    try:
        yield Fresh(sandbox)
    finally:
        await sandbox.close()


async def local(settings: SandboxSettings, baseline: ProcessBaseline, pace: Pace) -> list[Figure]:
    """The backend `local`: latency with a filled pool, then sustained throughput."""
    async with _backend(settings, settings.sandbox_rooms) as fresh:
        await _warm(fresh, pace)
        prints = await turns.latencies(fresh, baseline, PRINT, pace)
        plots = await turns.latencies(fresh, baseline, PLOT, pace)
        alone = await turns.rates(fresh, baseline, 1, pace)
        two = await turns.rates(fresh, baseline, 2, pace)
    return [
        figures.latency("local_print_ratio", "local, print(1)", prints.sandboxed, prints.baseline),
        figures.latency("local_plot_ratio", "local, a plot", plots.sandboxed, plots.baseline),
        figures.rate(
            "local_runs_per_s_ratio_1", "local, one at a time", alone.sandboxed, alone.baseline
        ),
        figures.rate(
            "local_runs_per_s_ratio_2", "local, two at a time", two.sandboxed, two.baseline
        ),
    ]


async def docker(settings: SandboxSettings, baseline: ProcessBaseline, pace: Pace) -> list[Figure]:
    """The backend `docker`: latency with a filled pool, then with a new container for each run."""
    async with _backend(settings, settings.sandbox_rooms) as fresh:
        await _warm(fresh, pace)
        prints = await turns.latencies(fresh, baseline, PRINT, pace)
        plots = await turns.latencies(fresh, baseline, PLOT, pace)
    async with _backend(settings, 0) as fresh:
        await fresh.run(PRINT)
        cold = await turns.latencies(fresh, baseline, PRINT, Pace(pace.pairs, COLD_REST))
    return [
        figures.latency(
            "docker_print_ratio", "docker, print(1)", prints.sandboxed, prints.baseline
        ),
        figures.latency("docker_plot_ratio", "docker, a plot", plots.sandboxed, plots.baseline),
        figures.latency(
            "docker_cold_ratio", "docker, cold print(1)", cold.sandboxed, cold.baseline
        ),
    ]


async def _warm(fresh: Fresh, pace: Pace) -> None:
    """Warm up: fill the pool, and make the first runs, which are not measured."""
    await fresh.sandbox.wait_until_warm()
    for program in (PRINT, PLOT, PRINT, PLOT):
        await fresh.run(program)
        await asyncio.sleep(pace.pause)


MEASURES = {Backend.LOCAL: local, Backend.DOCKER: docker}


def measure(name: Backend, pace: Pace, screen: Screen) -> list[Figure]:
    """One backend, with the engine that it needs."""
    pauses = f"each after {pace.pause:g} s, in which the pool is refilled"
    screen.line(
        name, f"{pace.pairs} runs a side and figure, {pauses}; runs a second without pauses"
    )
    settings = SandboxSettings(sandbox=name)
    with (
        engine(settings, lambda text: screen.line("engine", text)) as ready,
        tempfile.TemporaryDirectory(prefix="fettle-bench-") as folder,
    ):
        baseline = ProcessBaseline.ready(settings.sandbox_python, Path(folder))
        screen.line("baseline", f"{baseline.quick} -I -c")
        return uvloop.run(MEASURES[name](ready, baseline, pace))  # a worker does the same


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print one JSON object as the last line")
@click.option(
    "--backend",
    "names",
    type=click.Choice([backend.value for backend in Backend]),
    multiple=True,
    help="else both",
)
@click.option("--pairs", type=click.IntRange(1), default=40, show_default=True, help="runs a side")
@click.option("--slices", type=click.IntRange(1), default=5, show_default=True, help="of each rate")
@click.option("--seconds", type=float, default=2.0, show_default=True, help="of a slice")
def main(as_json: bool, names: tuple[str, ...], pairs: int, slices: int, seconds: float) -> None:
    """Measure, and compare the ratios with their goals."""
    screen = Screen(stderr=as_json)
    measured: list[Figure] = []
    with report_errors(screen):
        for name in names or tuple(Backend):
            kind = Backend(name)
            measured += measure(kind, Pace(pairs, RESTS[kind], slices, seconds), screen)
    screen.rows(HEADS, (ratio.row() for ratio in measured))
    if as_json:
        print_json(figures.keys(measured))


if __name__ == "__main__":
    main()
