"""CSV files in and out."""

import csv

from rowquery.errors import QueryError


def read(file):
    """(rows, columns). Raises QueryError for a file without a first line."""
    reader = csv.DictReader(file, restval="")
    if not reader.fieldnames:
        raise QueryError("the file has no columns")
    return reader, reader.fieldnames


def write(file, rows, columns):
    writer = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
