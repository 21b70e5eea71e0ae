"""Reads fragments; docs/fragments.md has the format."""

import re
from dataclasses import dataclass

from shipnotes.errors import NotesError
from shipnotes.kinds import KINDS

_NAME = re.compile(r"(?P<number>\d+)\.(?P<kind>[a-z]+)\.md")


@dataclass(frozen=True)
class Fragment:
    number: int
    kind: str
    text: str


def read(folder):
    """All fragments of a folder by number. Raises NotesError."""
    found = []
    for path in folder.glob("*.md"):
        name = _NAME.fullmatch(path.name)
        if name is None or name["kind"] not in KINDS:
            raise NotesError(f"{path.name} is no fragment: NUMBER.KIND.md, {', '.join(KINDS)}")
        lines = path.read_text(encoding="utf-8").strip().splitlines()
        if not lines:
            raise NotesError(f"{path.name} is empty")
        found.append(Fragment(int(name["number"]), name["kind"], lines[0]))
    return sorted(found, key=lambda each: each.number)
