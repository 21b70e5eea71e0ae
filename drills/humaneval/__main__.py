"""`python -m drills.humaneval --data HumanEval.jsonl.gz`: exit 0 where every solution passes."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from cli.output import Screen, print_json
from cli.render.parts import Tone
from drills.engine import engine
from drills.humaneval.drill import Outcome, drill
from drills.outer import report_errors
from evals.errors import BadSet
from evals.sources.from_humaneval import Problem, problem
from evals.sources.records import read
from settings.sandbox import Backend, SandboxSettings
from worker.adapters.backend import backend


@click.command()
@click.option(
    "--data", type=click.Path(path_type=Path), required=True, help="JSON lines, gzipped or not."
)
@click.option(
    "--backend",
    "name",
    type=click.Choice([each.value for each in Backend]),
    help="Else as FETTLE_SANDBOX says.",
)
@click.option("--together", type=click.IntRange(1, 64), default=2, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="The last line of stdout is one object.")
def main(data: Path, name: str | None, together: int, as_json: bool) -> None:
    """Run each canonical solution with its tests in a fresh sandbox, then in bare processes."""
    screen = Screen(stderr=as_json)
    settings = SandboxSettings(sandbox=Backend(name)) if name else SandboxSettings()
    try:
        problems = read(data, problem)
    except BadSet as error:
        raise click.BadParameter(str(error), param_hint="--data") from None
    with report_errors(screen), engine(settings, lambda text: screen.line("engine", text)) as ready:
        outcome = asyncio.run(_run(ready, problems, together))
    _show(screen, outcome, together)
    if as_json:
        ratio = round(outcome.ratio, 3)
        print_json({"backend": settings.sandbox, "ratio": ratio, **asdict(outcome)})
    sys.exit(0 if outcome.passed == outcome.tasks else 1)


async def _run(settings: SandboxSettings, problems: list[Problem], together: int) -> Outcome:
    sandbox = backend(settings)
    try:
        with TemporaryDirectory(prefix="fettle-drill-") as folder:
            return await drill(sandbox, settings.sandbox_python, Path(folder), problems, together)
    finally:
        await sandbox.close()


def _show(screen: Screen, outcome: Outcome, together: int) -> None:
    for failure in outcome.failures:
        screen.line("failed", f"{failure.task_id}: {failure.why}", Tone.BAD)
    screen.line("sandboxes", f"{outcome.seconds:.1f} s, a fresh sandbox each, {together} at a time")
    screen.line("bare", f"{outcome.bare_seconds:.1f} s, the same in bare processes")
    screen.line("ratio", f"{outcome.ratio:.2f}")
    tone = Tone.GOOD if outcome.passed == outcome.tasks else Tone.BAD
    screen.line("passed", f"{outcome.passed} of {outcome.tasks}", tone)


if __name__ == "__main__":
    main()
