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

LINE = 300


def fits(path: str, glob: str) -> bool:
    """Whether the path matches the glob. `**` is any number of directories; a glob without a slash
    matches the name in any directory."""
    if "/" not in glob:
        return fnmatch.fnmatchcase(path.rpartition("/")[2], glob)
    return _fits(path.split("/"), glob.lstrip("/").split("/"))


def _fits(parts: Sequence[str], globs: Sequence[str]) -> bool:
    """For each part of the glob: how many parts of the path it can have matched."""
    reached = {0}
    for glob in globs:
        if glob == "**":
            reached = set(range(min(reached), len(parts) + 1)) if reached else set()
        else:
            reached = {
                at + 1 for at in reached if at < len(parts) and fnmatch.fnmatchcase(parts[at], glob)
            }
    return len(parts) in reached


def paths(glob: str | None) -> Iterator[str]:
    """The files to search, in order. A link leads to one of them, or out of the workspace."""
    for folder, folders, names in os.walk("."):
        folders[:] = sorted(each for each in folders if each != ".git")
        for name in sorted(names):
            path = f"{folder}/{name}".removeprefix("./")
            if not Path(path).is_symlink() and (glob is None or fits(path, glob)):
                yield path


def matches(pattern: re.Pattern[str], path: str) -> Iterator[tuple[int, str]]:
    """The matching lines of a text file, by number from 1, cut around the match."""
    data = Path(path).read_bytes()
    if b"\0" in data[:4096]:
        return
    for number, line in enumerate(data.decode(errors="replace").split("\n"), 1):
        if found := pattern.search(line):
            start = max(0, found.start() - LINE // 3) if len(line) > LINE else 0
            yield number, line[start : start + LINE].rstrip("\r")


def search(asked: dict[str, Any]) -> dict[str, Any]:
    """All matches within the bounds."""
    try:
        pattern = re.compile(asked["pattern"], re.IGNORECASE if asked["ignore_case"] else 0)
    except (re.error, RecursionError, OverflowError) as error:
        return {"error": f"the pattern is no regular expression: {error}"}
    found: list[tuple[str, int, str]] = []
    left, files = asked["characters"], 0
    for path in paths(asked["glob"]):
        files += 1
        for number, text in matches(pattern, path):
            left -= len(path) + len(text) + 16
            if len(found) == asked["most"] or left < 0:
                return {"matches": found, "more": True, "files": files}
            found.append((path, number, text))
    return {"matches": found, "more": False, "files": files}


if __name__ == "__main__":
    answer = search(json.load(sys.stdin))
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode(errors="replace"))
