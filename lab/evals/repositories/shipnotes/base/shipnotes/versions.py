"""Versions; docs/versions.md has the rules."""

import re
from dataclasses import dataclass

from shipnotes.errors import NotesError
from shipnotes.kinds import weightiest


@dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int
    patch: int

    @classmethod
    def read(cls, text):
        """`1.4.2` or `v1.4.2`. Raises NotesError."""
        found = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)", text)
        if found is None:
            raise NotesError(f"not a version: {text!r}")
        return cls(*map(int, found.groups()))

    def __str__(self):
        return f"{self.major}.{self.minor}.{self.patch}"


def following(version, kinds):
    """The version after changes of these kinds; the same where there are none."""
    if not kinds:
        return version
    raised = {"break": 0, "feature": 1}.get(weightiest(kinds), 2)
    if version.major == 0:
        raised = min(raised + 1, 2)
    parts = [version.major, version.minor, version.patch]
    parts[raised] += 1
    return Version(*parts)
