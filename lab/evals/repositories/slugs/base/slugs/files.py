"""New names for the files of a folder; docs/rules.md has the rules."""

import re
from pathlib import Path

from slugs.text import shorten

LONGEST = 60
_GAP = re.compile(r"[^a-z0-9]+")


def new_names(names):
    """The new name of each name, in order; {old: new}."""
    taken, renamed = set(), {}
    for name in names:
        path = Path(name)
        stem = _slug(path.stem) or "file"
        new, count = f"{stem}{path.suffix.lower()}", 1
        while new in taken:
            count += 1
            new = f"{stem}-{count}{path.suffix.lower()}"
        taken.add(new)
        renamed[name] = new
    return renamed


def _slug(stem):
    words = _GAP.sub("-", stem.lower()).strip("-")
    return shorten(words, LONGEST)
