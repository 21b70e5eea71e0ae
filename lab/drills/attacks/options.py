"""The options of `fettle attack` and of `python -m lab.drills.attacks`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from settings.sandbox import Backend

OPTIONS = (
    click.option(
        "--backend",
        "backends",
        type=click.Choice([backend.value for backend in Backend]),
        multiple=True,
        help="Can be repeated. The default is FETTLE_SANDBOX.",
    ),
    click.option(
        "--only",
        "globs",
        metavar="GLOB",
        multiple=True,
        help="Attacks by name, such as 'network/*'. Can be repeated.",
    ),
    click.option("--list", "listing", is_flag=True, help="List the attacks; run none of them."),
    click.option("--json", "as_json", is_flag=True, help="The last line of stdout is one object."),
)


def attack_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a click command with the options of the drill."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function
