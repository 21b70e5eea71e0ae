"""The programs that run inside a room, as far as they are functions."""

from __future__ import annotations

import pytest

from agents.tools.inside.page_text import Reader
from agents.tools.inside.searching import fits


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        ("a.py", "*.py", True),
        ("src/deep/a.py", "*.py", True),
        ("src/a.txt", "*.py", False),
        ("src/a.py", "src/*.py", True),
        ("src/deep/a.py", "src/*.py", False),
        ("src/a.py", "src/**/*.py", True),
        ("src/deep/er/a.py", "src/**/*.py", True),
        ("src/deep/a.py", "**/deep/*", True),
        ("deep/a.py", "**/deep/*", True),
        ("src/deep/a.py", "src/**", True),
        ("src.py", "src/**", False),
        ("a.py", "/a.py", True),
        ("a[1].py", "a[[]1].py", True),
        ("a/b/c", "**/**/c", True),
        ("a/b/c", "b/c", False),
    ],
)
def test_globs(path: str, glob: str, expected: bool) -> None:
    assert fits(path, glob) is expected


@pytest.mark.parametrize(
    ("html", "title", "text"),
    [
        ("plain", "", "plain"),
        ("<html><head><title>T</title><meta charset=x><body><p>One<p>Two", "T", "One\nTwo"),
        ("<title>T</title><p>no head, no body", "T", "no head, no body"),
        ("a<script>b<p>c</script>d<style>e</style>f", "", "adf"),
        ("a<script>never closed", "", "a"),
        ("</a></pre></script>stray ends", "", "stray ends"),
        ("<a href='x'>in</a> <a>no</a> <a href='#y'>part", "", "[in](https://h.test/x) [no] [part"),
        ("<a href='http://[broken'>b</a>", "", "[b](http://[broken)"),
        ("<pre>a\n  b</pre>", "", "a\n  b"),
        ("&lt;b&gt; &amp; &#0; &nope;", "", "<b> & \ufffd &nope;"),
        ("<svg><title>icon</title></svg>x", "icon", "x"),
        ("<p>a</p>\n\n\n<p>b</p>", "", "a\n\nb"),
        ("<table><tr><td>1<td>2<tr><td>3</table>", "", "| 1 | 2\n| 3"),
    ],
)
def test_the_text_of_a_page(html: str, title: str, text: str) -> None:
    reader = Reader("https://h.test/")
    reader.feed(html)
    reader.close()
    assert (reader.title, reader.text) == (title, text)
