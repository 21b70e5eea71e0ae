"""Slugs of titles; docs/rules.md has the rules."""

import re

LONGEST = 60
_GAP = re.compile(r"[^a-z0-9]+")


def slugify(title, longest=LONGEST):
    """The slug of a title; empty if the title has no letter and no digit."""
    words = _GAP.sub("-", title.lower()).strip("-")
    return shorten(words, longest)


def shorten(slug, longest):
    """The slug, cut between two words if it is too long."""
    if len(slug) <= longest:
        return slug
    cut = slug[: longest + 1].rpartition("-")[0]
    return cut or slug[:longest]
