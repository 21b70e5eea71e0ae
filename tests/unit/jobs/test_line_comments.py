"""Comments on lines of a patch: their context lines, and whether the new patch changed them."""

from __future__ import annotations

from dataclasses import asdict
from difflib import unified_diff

import pytest

from jobs.errors import NotShown
from jobs.model.review import Comment, Side
from jobs.view.comments import add_excerpt, mark_outdated
from jobs.view.patch import parse_patch
from jobs.view.suggestion import apply_suggestions, read_suggestions

BASE = [f"line {number}" for number in range(1, 31)]


def patch(after: list[str], path: str = "src/a.py") -> bytes:
    """The change from BASE to these lines, as git writes it."""
    lines = unified_diff(BASE, after, f"a/{path}", f"b/{path}", lineterm="")
    return "\n".join([f"diff --git a/{path} b/{path}", *lines, ""]).encode()


def changed(**lines: str | None) -> list[str]:
    """BASE with lines replaced, as `_12="new"`; None deletes one."""
    replacements = {int(name[1:]): text for name, text in lines.items()}
    new_lines = [replacements.get(number, text) for number, text in enumerate(BASE, 1)]
    return [line for text in new_lines if text is not None for line in text.split("\n")]


def on(content: bytes, line: int, side: Side = Side.NEW, path: str = "src/a.py") -> Comment:
    return add_excerpt(Comment(path, line, side, "Why?"), parse_patch(content))


def mark_comment(comment: Comment, new_patch: bytes | None) -> tuple[bool, int | None]:
    files = parse_patch(new_patch or b"")
    (decision,) = mark_outdated([{"by": "ada", "comments": [asdict(comment)]}], files)
    (comment_data,) = decision["comments"]
    assert comment_data["text"] == "Why?"
    return comment_data["outdated"], comment_data["now"]


def test_a_comment_has_the_lines_around_it() -> None:
    content = patch(changed(_12="twelve\ntwelve and a half"))
    comment = on(content, 13)
    context = (" line 11", "-line 12", "+twelve", "+twelve and a half")
    assert comment.excerpt == (*context, " line 13", " line 14", " line 15")
    assert (comment.at, comment.base) == (3, None)
    removed = on(content, 12, Side.OLD)
    assert (removed.excerpt[removed.at], removed.base) == ("-line 12", 12)
    first = on(content, 9)
    assert (first.excerpt, first.at) == ((" line 9", " line 10", " line 11", "-line 12"), 0)
    assert (first.base, on(content, 14).base) == (9, 13)


@pytest.mark.parametrize(
    ("line", "side", "path", "message"),
    [
        (1, Side.NEW, "src/a.py", r"does not show line 1 of src/a.py \(after the change\)"),
        (13, Side.OLD, "src/b.py", "does not change src/b.py"),
        (31, Side.OLD, "src/a.py", r"does not show line 31 of src/a.py \(before the change\)"),
    ],
)
def test_a_comment_on_a_line_that_is_not_shown_is_refused(line, side, path, message) -> None:
    with pytest.raises(NotShown, match=message):
        on(patch(changed(_12="twelve")), line, side, path)


def test_a_file_without_lines_takes_no_comments() -> None:
    content = b"diff --git a/x.png b/x.png\nnew file mode 100644\nGIT binary patch\nliteral 1\n"
    with pytest.raises(NotShown, match=r"shows no line of x\.png"):
        on(content, 1, path="x.png")


FIRST = patch(changed(_12="twelve", _20=None))


@pytest.mark.parametrize(
    ("line", "side", "new_patch", "expected"),
    [
        # an added line is identified by its text
        (12, Side.NEW, patch(changed(_12="twelve", _20=None)), (False, 12)),
        (12, Side.NEW, patch(changed(_2="2\n2.5\n2.6", _12="twelve")), (False, 14)),
        (12, Side.NEW, patch(changed(_12="a dozen")), (True, None)),
        (12, Side.NEW, patch(changed(_12="twelve", _25="twelve")), (False, 12)),
        # a line of the commit is identified by its number
        (20, Side.OLD, patch(changed(_2="2\n2.5", _20=None)), (False, 20)),
        (20, Side.OLD, patch(changed(_21="21")), (True, None)),
        (11, Side.NEW, patch(changed(_2="2\n2.5", _12="a dozen")), (False, 12)),
        (11, Side.NEW, patch(changed(_11="eleven")), (True, None)),
        (11, Side.OLD, patch(changed(_28="28")), (False, None)),
        # the new patch does not change its file, or is empty
        (11, Side.NEW, patch(changed(_12="twelve"), "other.py"), (True, None)),
        (12, Side.NEW, None, (True, None)),
    ],
)
def test_a_line_is_unchanged_or_outdated(line, side, new_patch, expected) -> None:
    assert mark_comment(on(FIRST, line, side), new_patch) == expected


def test_decisions_without_comments_are_unchanged() -> None:
    old = {"by": "ada", "action": "revise", "feedback": "More."}
    assert mark_outdated([old], parse_patch(FIRST)) == [{**old, "comments": []}]


def apply_comments(text: str, *comments: tuple[int, str]) -> str:
    """The text with the suggestions of comments, by line."""
    suggestions = [each for line, comment in comments for each in read_suggestions(comment, line)]
    return apply_suggestions(text, suggestions)


@pytest.mark.parametrize(
    ("comment", "after"),
    [
        ("```suggestion\n  B\n```", "a\n  B\nc\nd\n"),
        ("Better:\n```suggestion\nB\n\nB2\n```\nbecause", "a\nB\n\nB2\nc\nd\n"),
        ("Better:\r\n```suggestion\r\nB\r\n```\r\n", "a\nB\nc\nd\n"),
        ("```suggestion\n```", "a\nc\nd\n"),
        ("```suggestion:-1+1\nB\n```", "B\nd\n"),
        ("````suggestion\n```\n````", "a\n```\nc\nd\n"),
        ("```python\nB\n```", "a\nb\nc\nd\n"),
        ("```suggestion\nB", "a\nb\nc\nd\n"),
    ],
)
def test_a_suggestion_replaces_the_lines_of_its_comment(comment, after):
    assert apply_comments("a\nb\nc\nd\n", (2, comment)) == after


@pytest.mark.parametrize(
    ("text", "after"),
    [("a\r\nb\r\n", "a\r\nB\r\nB\r\n"), ("a\nb", "a\nB\nB"), ("a\n\f\n", "a\nB\nB\n")],
)
def test_suggested_lines_end_as_the_lines_of_the_file(text, after):
    assert apply_comments(text, (2, "```suggestion\nB\nB\n```")) == after


def test_several_suggestions_apply_together_unless_they_overlap():
    first, second = "```suggestion\nA\nA2\n```", "```suggestion:-0+1\nB\n```"
    assert apply_comments("a\nb\nc\n", (1, first), (2, second)) == "A\nA2\nB\n"
    with pytest.raises(NotShown, match="two suggestions replace line 3"):
        apply_comments("a\nb\nc\n", (3, first), (2, second))
    with pytest.raises(NotShown, match="two suggestions replace line 2"):
        apply_comments("a\nb\nc\n", (2, f"{first}\nor\n{first}"))
    with pytest.raises(NotShown, match="no line 4"):
        apply_comments("a\nb\nc\n", (3, second))
    with pytest.raises(NotShown, match="no line 0"):
        apply_comments("a\n", (1, "```suggestion:-1+0\n```"))
    with pytest.raises(NotShown, match="has 0 lines"):
        apply_comments("", (1, first))
