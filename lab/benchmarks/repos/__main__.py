"""`python -m lab.benchmarks.repos [--json]`: runs over a large directory tree.

Jobs on a repository make such runs. The same runs without files are the baseline.

Keys of the JSON line, for each backend (in seconds, medians): `*_plain_s`, `*_layered_s`, their
`*_difference_s` and `*_ratio`; `*_changed_s`, for runs that also change a file of the layer; and
`*_first_s`, the first run on a layer that the backend has not seen.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import uvloop

from cli.output import Screen, print_json
from lab.benchmarks.goal import judged
from lab.drills.engine import engine
from lab.drills.outer import report_errors
from sandbox.local.stepdown import give_to_sandbox_user
from sandbox.protocol import Command, Limits, Sandbox
from settings.sandbox import Backend, SandboxSettings
from worker.adapters.backend import backend

GOALS = {Backend.LOCAL: 0.3, Backend.DOCKER: 1.5}
"""The most seconds that a warm run may take longer than a run without files: issue 21."""
HEADS = ("WHAT", "LAYERED", "PLAIN", "DIFFERENCE", "RATIO", "GOAL", "")
LIMITS = Limits(wall_seconds=60.0)
NOTHING = ("python", "-c", "print(1)")
CHANGE = ("python", "-c", "open('d000/f000000.py', 'a').write('x'); print(1)")
IN_A_DIRECTORY = 200
REST_SECONDS = {Backend.LOCAL: 0.3, Backend.DOCKER: 1.5}
"""The pause in seconds before each run, in which the backend replaces a used sandbox."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Medians of one backend, in seconds."""

    name: Backend
    first: float
    plain: float
    layered: float
    changed: float

    def rows(self) -> list[tuple[str, ...]]:
        """The rows of the table."""
        rows: list[tuple[str, ...]] = []
        for label, value, goal in (
            ("print(1)", self.layered, GOALS[self.name]),
            ("a file is changed", self.changed, None),
            ("the first", self.first, None),
        ):
            more = value - self.plain
            numbers = (f"{value:.3f} s", f"{self.plain:.3f} s", f"{more:.3f} s")
            ratio = f"{value / self.plain:.1f}"
            rows.append((f"{self.name}, {label}", *numbers, ratio, *judged(goal, more)))
        return rows

    def keys(self) -> dict[str, float]:
        """The keys of `--json`."""
        values = {
            "plain_s": self.plain,
            "layered_s": self.layered,
            "difference_s": self.layered - self.plain,
            "ratio": self.layered / self.plain,
            "changed_s": self.changed,
            "first_s": self.first,
        }
        return {f"{self.name}_{key}": round(value, 4) for key, value in values.items()}


def make(layer: Path, files: int, size: int) -> None:
    """Make a tree of `files` files with `size` bytes in total. The text does not repeat."""
    content = secrets.token_hex(1 << 20).encode()
    file_bytes = size // files
    for number in range(files):
        folder = layer / f"d{number // IN_A_DIRECTORY:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        start = (number * 64) % (len(content) - file_bytes) if file_bytes < len(content) else 0
        (folder / f"f{number:06d}.py").write_bytes(content[start : start + file_bytes])
    give_to_sandbox_user(layer)


async def measure(settings: SandboxSettings, top: Path, name: str, pairs: int) -> Figures:
    """Measure one backend: after a first run, each kind of run in turn."""
    sandbox = backend(settings, layers=top)
    kinds: Mapping[str, Command] = {
        "plain": Command(NOTHING),
        "layered": Command(NOTHING, trees=(name,)),
        "changed": Command(CHANGE, trees=(name,)),
    }
    try:
        await sandbox.run(kinds["plain"], LIMITS)
        first = await _seconds(sandbox, kinds["layered"])
        times: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(pairs):
            for kind, command in kinds.items():
                await asyncio.sleep(REST_SECONDS[settings.sandbox])
                times[kind].append(await _seconds(sandbox, command))
    finally:
        await sandbox.close()
    medians = {kind: statistics.median(durations) for kind, durations in times.items()}
    return Figures(settings.sandbox, first, **medians)


async def _seconds(sandbox: Sandbox, command: Command) -> float:
    started = time.monotonic()
    result = await sandbox.run(command, LIMITS)
    seconds = time.monotonic() - started
    if result.stdout.text != "1\n" or len(result.changed) != (command.argv == CHANGE):
        raise RuntimeError(f"not the run that was to be measured: {result}")
    return seconds


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print one JSON object as the last line")
@click.option(
    "--backend",
    "names",
    type=click.Choice([backend.value for backend in Backend]),
    multiple=True,
    help="else both",
)
@click.option("--pairs", type=click.IntRange(1), default=10, show_default=True, help="runs a side")
@click.option("--files", type=click.IntRange(1), default=20_000, show_default=True)
@click.option("--megabytes", type=click.IntRange(1), default=200, show_default=True)
def main(as_json: bool, names: tuple[str, ...], pairs: int, files: int, megabytes: int) -> None:
    """Measure, and compare the differences with their goals."""
    screen = Screen(stderr=as_json)
    figures: list[Figures] = []
    with (
        report_errors(screen),
        tempfile.TemporaryDirectory(prefix="fettle-bench-", dir=_disk()) as folder,
    ):
        top, layer = Path(folder) / "layers", f"bench-{secrets.token_hex(8)}"
        screen.line("layer", f"{files} files, {megabytes} MB; {pairs} runs a side")
        make(top / layer, files, megabytes * 1_000_000)
        for name in names or tuple(Backend):
            settings = SandboxSettings(sandbox=Backend(name))
            with engine(settings, lambda text: screen.line("engine", text)) as ready:
                # A worker uses uvloop, too.
                figures.append(uvloop.run(measure(ready, top, layer, pairs)))
    screen.rows(HEADS, (row for backend_figures in figures for row in backend_figures.rows()))
    if as_json:
        print_json(
            {
                key: value
                for backend_figures in figures
                for key, value in backend_figures.keys().items()
            }
        )


def _disk() -> str:
    """A directory on a disk, as the directory of layers is."""
    return os.environ.get("TMPDIR", "/var/tmp")  # noqa: S108


if __name__ == "__main__":
    main()
