"""`fettle models`: the models of each role, their prices, and whether they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from cli.context import open_service
from cli.exit_codes import FAILED
from cli.output import Screen, print_json
from cli.render.models import checks_shown, models_shown


@click.command()
@click.argument("names", nargs=-1, metavar="[PROVIDER:MODEL]...")
@click.option("--check", is_flag=True, help="Have a worker ask each of them one short question.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(
    flags: Mapping[str, Any], /, *, names: Sequence[str], check: bool, as_json: bool
) -> int:
    """List the models of the workers: by role, with prices per million tokens.

    With --check, or with names, a worker asks each model one short question (a few tokens, charged
    to no job; needs a key with the scope `admin`): exit 1 if one does not answer.
    """
    wanted = check or bool(names)
    with open_service(flags) as service:
        found = dict(service.models())
        if wanted and found["workers"] != 0:
            found["checks"] = service.check_models(names)
    if as_json:
        print_json(found)
    else:
        screen = Screen()
        models_shown(screen, found)
        checks_shown(screen, found.get("checks", ()))
    answered = found["workers"] != 0 and all(each["ok"] for each in found.get("checks", ()))
    return FAILED if wanted and not answered else 0
