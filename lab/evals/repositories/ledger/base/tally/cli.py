"""The command line."""

import argparse
import sys
from pathlib import Path

from tally.errors import TallyError
from tally.money import Money
from tally.parser import parse
from tally.reports import balance, monthly
from tally.table import columns


def main(words=None):
    asked = _parser().parse_args(words)
    try:
        for line in asked.run(asked):
            print(line)
    except (TallyError, OSError) as error:
        print(f"tally: {error}", file=sys.stderr)
        return 1
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="tally")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("balance")
    one.add_argument("journal", type=Path)
    one.set_defaults(run=_balance)
    one = commands.add_parser("monthly")
    one.add_argument("journal", type=Path)
    one.add_argument("account")
    one.set_defaults(run=_monthly)
    one = commands.add_parser("split")
    one.add_argument("amount")
    one.add_argument("parts", type=int)
    one.set_defaults(run=_split)
    return parser


def _balance(asked):
    return columns(balance(parse(asked.journal.read_text())).items())


def _monthly(asked):
    sums = monthly(parse(asked.journal.read_text()), asked.account)
    return columns((f"{year}-{number:02}", each) for (year, number), each in sums.items())


def _split(asked):
    return [" ".join(map(str, Money.read(asked.amount).split(asked.parts)))]
