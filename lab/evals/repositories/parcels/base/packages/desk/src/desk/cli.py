"""`desk quote --kg WEIGHT [--size LxWxH] [--to COUNTRY] [--value EUR]`."""

import argparse
from decimal import Decimal

from desk.sizes import read_size
from rates import TooHeavy, insurance, price


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="desk")
    quote = parser.add_subparsers(required=True).add_parser("quote")
    quote.add_argument("--kg", type=Decimal, required=True)
    quote.add_argument("--size", type=read_size)
    quote.add_argument("--to", default="DE")
    quote.add_argument("--value", type=Decimal)
    options = parser.parse_args(arguments)
    try:
        total = price(options.kg, options.to)
    except TooHeavy as error:
        print(f"not taken: {error}")
        return 1
    if options.value is not None:
        total += insurance(options.value)
    print(f"{total:.2f} EUR")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
