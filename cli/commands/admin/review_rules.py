"""`fettle review-rules`: the operator's review rules, and those that change at run time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

import click

from cli.context import open_service
from cli.output import Screen, print_json
from cli.render.texts import printable


@click.group()
def review_rules_command() -> None:
    """Show the review rules, and change those that are added to the file's at run time.

    Needs an operator's key: scope `admin`, tenant `default`.
    """


@review_rules_command.command()
@click.option("--text", is_flag=True, help="Print the text of the rules that change at run time.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def show(flags: Mapping[str, Any], *, text: bool, as_json: bool) -> None:
    """Show the rules in force. Each rule that matches a job applies."""
    with open_service(flags) as service:
        rules = service.review_rules()
    if text and not as_json:
        click.echo(rules["text"], nl=False)
    else:
        _print(rules, as_json=as_json)


@review_rules_command.command("set")
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--dry-run", is_flag=True, help="Check and describe the rules; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def change(flags: Mapping[str, Any], file: TextIO, *, dry_run: bool, as_json: bool) -> None:
    """Add the rules in FILE (-: stdin) to those of the operator's file, in place of those that were
    set before. An empty FILE removes them.

    They apply to jobs that are submitted from now on.
    """
    try:
        text = file.read()
    except UnicodeDecodeError:
        raise click.BadParameter(f"{file.name} is not a UTF-8 text", param_hint="FILE") from None
    with open_service(flags) as service:
        digest = service.review_rules()["digest"]
        rules = service.change_review_rules(text, digest, dry_run=dry_run)
    _print(rules, as_json=as_json)


def _print(rules: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(rules)
        return
    rows = (
        tuple(printable(rule[name]) for name in ("name", "source", "sentence"))
        for rule in rules["rules"]
    )
    Screen().rows(("RULE", "SOURCE", "MEANING"), rows)
