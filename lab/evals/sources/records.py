"""Published files of exercises: JSON lines or one JSON array, gzipped or not."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from lab.evals.errors import BadSet

T = TypeVar("T")

_GZIP = b"\x1f\x8b"
MOST_BYTES = 64 * 2**20
"""The largest file. A small gzipped file may have gigabytes."""


def read(path: Path, make: Callable[[Mapping[str, Any]], T]) -> list[T]:
    """The result of `make` for each record, in the file's order, at least one. Raises BadSet.

    For an invalid record `make` raises KeyError, TypeError, AttributeError, ValueError (such as
    pydantic's ValidationError) or SyntaxError.
    """
    records = [_parse_record(position, text, make) for position, text in _texts(path)]
    if not records:
        raise BadSet(f"{path} cannot be read", "it has no exercise")
    return records


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    """Each record's place and JSON; in an array, places are numbers from 1."""
    try:
        data = path.read_bytes()
        if data.startswith(_GZIP):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise BadSet(f"{path} cannot be read", f"it has more than {MOST_BYTES:,} bytes")
        text = data.decode()
        array = json.loads(text) if text.startswith("[\n") else None
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise BadSet(f"{path} cannot be read", str(error)) from None
    lines = text.split("\n") if array is None else map(json.dumps, array)
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield f"{path}:{number}", line


def _parse_record(position: str, text: str, make: Callable[[Mapping[str, Any]], T]) -> T:
    try:
        return make(json.loads(text))
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except KeyError as error:
        problem = f"{error} is missing"
    except (ValueError, TypeError, AttributeError, SyntaxError, RecursionError) as error:
        problem = str(error)
    raise BadSet(f"{position} cannot be read", problem) from None
