"""The command line."""

import argparse
import sys

import rowquery
from rowquery import files
from rowquery.errors import QueryError


def main(words=None):
    parser = argparse.ArgumentParser(prog="rowquery")
    parser.add_argument("--version", action="version", version=rowquery.__version__)
    parser.add_argument("query")
    parser.add_argument("file", type=argparse.FileType())
    asked = parser.parse_args(words)
    try:
        rows, columns = files.read(asked.file)
        files.write(sys.stdout, rowquery.Query(asked.query).rows(rows, columns), columns)
    except QueryError as error:
        print(f"rowquery: {error}", file=sys.stderr)
        return 2
    return 0
