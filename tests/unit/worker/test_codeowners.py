"""CODEOWNERS: which line counts for a path."""

from __future__ import annotations

import time

import pytest

from worker.repositories.codeowners import find_owners

FILE = """\
# comment
*            @all
*.js         @js  @web   # inline
/build/      @build
docs/*       docs@example.org
apps/        @apps
/apps/github
**/logs      @logs
/deep/**/x.py @deep
a\\ b.txt    @space
[Section] @section
/we[i]rd     @weird
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("a.py", ["@all"]),
        ("src/a.js", ["@js", "@web"]),
        ("build/logs/x", ["@logs"]),
        ("build/x/y", ["@build"]),
        ("x/build/y", ["@all"]),
        ("docs/a.md", ["docs@example.org"]),
        ("docs/a/b.md", ["@all"]),
        ("x/apps/y/z.py", ["@apps"]),
        ("apps/github/x.py", []),
        ("x/y/logs/z", ["@logs"]),
        ("deep/x.py", ["@deep"]),
        ("deep/a/b/x.py", ["@deep"]),
        ("a b.txt", ["@space"]),
        ("we[i]rd", ["@weird"]),
        ("weird", ["@all"]),
    ],
)
def test_the_last_matching_line_counts(path, owners):
    assert find_owners(FILE, [path]) == [{"path": path, "owners": owners}]


def test_files_with_the_same_owners_are_one_entry():
    assert find_owners(FILE, ["b.py", "a.py", "x.js"]) == [
        {"path": "a.py", "owners": ["@all"]},
        {"path": "x.js", "owners": ["@js", "@web"]},
    ]
    assert find_owners("", ["a.py"]) == [{"path": "a.py", "owners": []}]


def test_a_hostile_file_takes_bounded_time():
    start = time.monotonic()
    stars = "/" + "a*" * 60 + "b @x\n" + "**/a/" * 60 + "b @x\n"
    assert find_owners(stars, ["a" * 200, "/".join("a" * 30)])[0]["owners"] == []
    lines = "x @x\n" * 60_000
    assert find_owners(lines, [f"x/{number}" for number in range(100)]) == [
        {"path": "x/0", "owners": []}
    ]
    assert time.monotonic() - start < 5
