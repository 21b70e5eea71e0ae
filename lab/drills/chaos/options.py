"""The options of `fettle chaos` and of `python -m lab.drills.chaos`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

OPTIONS = (
    click.option("--minutes", type=click.FloatRange(0.05, 24 * 60), default=1.0, show_default=True),
    click.option("--seed", type=int, default=1, show_default=True, help="Same seed, same faults."),
    click.option(
        "--lease",
        type=click.FloatRange(min=0.5),
        default=2.0,
        show_default=True,
        help="The lease time of the deployment, in seconds.",
    ),
    click.option(
        "--sweep",
        type=click.FloatRange(min=0.1),
        default=0.5,
        show_default=True,
        help="The time between two sweeps of the deployment, in seconds.",
    ),
    click.option(
        "--slack",
        type=click.FloatRange(min=0),
        default=2.0,
        show_default=True,
        help="How much longer than lease and sweep a recovery may take, in seconds.",
    ),
    click.option("--keep", type=click.Path(path_type=Path), help="A folder for all logs."),
    click.option("--json", "as_json", is_flag=True, help="The last line of stdout is one object."),
)


def chaos_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a click command with the options of the drill."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function
