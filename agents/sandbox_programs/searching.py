"""Searches the files of the working directory. Input: {pattern, glob, ignore_case, most,
characters} as JSON; output: {matches: [[path, line, text]], more, files} or {error}.

It runs in a sandbox because a model writes the pattern: the sandbox's limit ends an endless match.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

MOST_COLUMNS = 300


def matches_glob(path: str, glob: str) -> bool:
    """Whether the path matches the glob. `**` is any number of directories; a glob without a slash
    matches the name in any directory."""
    if "/" not in glob:
        return fnmatch.fnmatchcase(path.rpartition("/")[2], glob)
    return _match_parts(path.split("/"), glob.lstrip("/").split("/"))


def _match_parts(parts: Sequence[str], globs: Sequence[str]) -> bool:
    """Whether the parts of a path match the parts of a glob. After each part of the glob, `counts`
    has the numbers of parts of the path that the glob can have matched so far."""
    counts = {0}
    for glob in globs:
        if glob == "**":
            counts = set(range(min(counts), len(parts) + 1)) if counts else set()
        else:
            counts = {
                count + 1
                for count in counts
                if count < len(parts) and fnmatch.fnmatchcase(parts[count], glob)
            }
    return len(parts) in counts


def paths(glob: str | None) -> Iterator[str]:
    """The files to search, in order. Links are left out: a link leads to one of these files, or out
    of the workspace."""
    for folder, folders, names in os.walk("."):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(names):
            path = f"{folder}/{name}".removeprefix("./")
            if not Path(path).is_symlink() and (glob is None or matches_glob(path, glob)):
                yield path


def matches(pattern: re.Pattern[str], path: str) -> Iterator[tuple[int, str]]:
    """The matching lines of a text file, by number from 1, cut around the match."""
    data = Path(path).read_bytes()
    if b"\0" in data[:4096]:
        return
    for number, line in enumerate(data.decode(errors="replace").split("\n"), 1):
        if match := pattern.search(line):
            start = max(0, match.start() - MOST_COLUMNS // 3) if len(line) > MOST_COLUMNS else 0
            yield number, line[start : start + MOST_COLUMNS].rstrip("\r")


def search(request: dict[str, Any]) -> dict[str, Any]:
    """All matches within the limits of the request."""
    try:
        pattern = re.compile(request["pattern"], re.IGNORECASE if request["ignore_case"] else 0)
    except (re.error, RecursionError, OverflowError) as error:
        return {"error": f"the pattern is not a regular expression: {error}"}
    all_matches: list[tuple[str, int, str]] = []
    remaining, files = request["characters"], 0
    for path in paths(request["glob"]):
        files += 1
        for number, text in matches(pattern, path):
            remaining -= len(path) + len(text) + 16
            if len(all_matches) == request["most"] or remaining < 0:
                return {"matches": all_matches, "more": True, "files": files}
            all_matches.append((path, number, text))
    return {"matches": all_matches, "more": False, "files": files}


if __name__ == "__main__":
    answer = search(json.load(sys.stdin))
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode(errors="replace"))
