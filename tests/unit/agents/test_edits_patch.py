"""A unified diff is applied exactly, and whole or not at all."""

from __future__ import annotations

import difflib
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.edits.patch import Patched, patched
from agents.edits.unified import read
from agents.errors import ToolRefused
from agents.lines import lines_of

TEN = "".join(f"line {number}\n" for number in range(1, 11))
NO_END = "\\ No newline at end of file"


def apply(diff: str, files: Mapping[str, str], path: str | None = None) -> Patched:
    diffs = read(diff, path)
    return patched({each.path: files.get(each.path) for each in diffs}, diffs)


def refused(diff: str, files: Mapping[str, str], path: str | None = None) -> str:
    with pytest.raises(ToolRefused) as error:
        apply(diff, files, path)
    return str(error.value)


def diff_of(old: str, new: str, name: str = "a.txt", context: int = 3) -> str:
    """A diff as git writes it, with the marks of a missing newline that difflib leaves out."""
    lines = difflib.unified_diff(
        lines_of(old), lines_of(new), f"a/{name}", f"b/{name}", n=context, lineterm="\n"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n{NO_END}\n" for line in lines)


LINE = st.text("ab-+@\\ \r", max_size=3).filter(lambda line: not line.endswith("\r"))
FILE = st.builds(
    lambda lines, end: "\n".join(lines) + end,
    st.lists(LINE, max_size=12),
    st.sampled_from(["", "\n"]),
)


@given(FILE, FILE, st.integers(1, 4))
@settings(max_examples=300)
def test_a_patch_routine_that_corrupts_files(old: str, new: str, context: int) -> None:
    """What a diff of two texts makes of the first is the second, to the byte; or it is refused."""
    if old == new:
        return
    try:
        done = apply(diff_of(old, new, context=context), {"a.txt": old})
    except ToolRefused as error:
        assert not old or "without any context" in str(error)  # noqa: PT017 - either is right
        return
    assert done.changed == {"a.txt": new}


def test_the_diffs_of_gnu_diff_are_read(tmp_path: Path) -> None:
    new = TEN.replace("line 2\n", "").replace("line 9\n", "line 9\nand a half\n").rstrip("\n")
    (tmp_path / "old.txt").write_text(TEN)
    (tmp_path / "new.txt").write_text(new)
    argv = ["diff", "-u", "--label", "a/x.txt", "--label", "b/x.txt", "old.txt", "new.txt"]
    said = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    done = apply(said.stdout, {"x.txt": TEN})
    assert done.changed == {"x.txt": new}
    assert done.done == ("x.txt (+2 -2)",)


def test_several_hunks_and_files_made_and_deleted() -> None:
    changed = TEN.replace("line 1\n", "first\n").replace("line 10\n", "last\n")
    diff = (
        diff_of(TEN, changed, "a.txt", context=1)
        + "--- /dev/null\n+++ b/sub/new.py\n@@ -0,0 +1,2 @@\n+x = 1\n+y = 2\n"
        + "--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
    )
    done = apply(diff, {"a.txt": TEN, "old.py": "gone\n"})
    assert done.changed == {"a.txt": changed, "sub/new.py": "x = 1\ny = 2\n"}
    assert done.deleted == {"old.py"}
    assert done.done == ("a.txt (+2 -2)", "sub/new.py (made, +2 -0)", "old.py (deleted, +0 -1)")


def test_one_hunk_that_does_not_fit_refuses_the_whole_diff() -> None:
    diff = diff_of(TEN, TEN.replace("line 1\n", "first\n")) + (
        "--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n"
    )
    words = refused(diff, {"a.txt": TEN, "b.txt": "same\nother\n"})
    assert "hunk 1 of 'b.txt' does not fit, nothing was changed" in words
    assert "line 2 is 'other', the diff has 'old'" in words


def test_fuzz_is_refused() -> None:
    """GNU patch takes this with fuzz 1: a line of context differs."""
    diff = "--- a/a.txt\n+++ b/a.txt\n@@ -4,3 +4,3 @@\n line 4\n-line 5\n+five\n line six\n"
    assert "line 6 is 'line 6', the diff has 'line six'" in refused(diff, {"a.txt": TEN})


def test_a_wrong_place_is_found_by_its_lines_or_refused() -> None:
    hunk = "-line 5\n+five\n line 6\n"
    for header in ("@@ -1,2 +1,2 @@", "@@ -900,2 +900,2 @@ def f():", "@@", "@@ def f(): @@"):
        done = apply(f"--- a.txt\n+++ a.txt\n{header}\n{hunk}", {"a.txt": TEN})
        assert done.changed == {"a.txt": TEN.replace("line 5", "five")}, header
    twice = "a\nb\n" * 2
    diff = "--- a.txt\n+++ a.txt\n@@\n-a\n+A\n b\n"
    assert "fits at several places (lines 1, 3)" in refused(diff, {"a.txt": twice})
    named = diff.replace("@@", "@@ -3,2 +3,2 @@")
    assert apply(named, {"a.txt": twice}).changed == {"a.txt": "a\nb\nA\nb\n"}


def test_hunks_come_in_order() -> None:
    diff = "--- a.txt\n+++ a.txt\n@@\n-line 9\n+nine\n@@\n-line 2\n+two\n"
    assert "come before those of the hunk before it" in refused(diff, {"a.txt": TEN})


def test_the_newline_at_the_end_is_part_of_the_last_line() -> None:
    bare = "a\nb"
    with_end = "--- x\n+++ x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    assert "line 2 ends with nothing ('\\ No newline" in refused(with_end, {"x": bare})
    assert apply(f"--- x\n+++ x\n@@ -1,2 +1,2 @@\n a\n-b\n{NO_END}\n+c\n", {"x": bare}).changed == {
        "x": "a\nc\n"
    }
    removed = f"--- x\n+++ x\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n{NO_END}\n"
    assert apply(removed, {"x": "a\nb\n"}).changed == {"x": bare}
    joined = f"--- x\n+++ x\n@@ -1,2 +1,3 @@\n a\n b\n{NO_END}\n+c\n"
    assert "would run lines 2 and 3 together" in refused(joined, {"x": bare})
    inside = f"--- x\n+++ x\n@@ -1,2 +1,2 @@\n-a\n+A\n{NO_END}\n b\n"
    assert "would run lines 1 and 2 together" in refused(inside, {"x": "a\nb\n"})


def test_carriage_returns_stay() -> None:
    crlf = TEN.replace("\n", "\r\n")
    diff = diff_of(TEN, TEN.replace("line 5\n", "five\nand a half\n"))
    assert apply(diff, {"a.txt": crlf}).changed == {
        "a.txt": crlf.replace("line 5\r\n", "five\r\nand a half\r\n")
    }
    mixed = TEN.replace("line 5\n", "line 5\r\n")
    assert "line 5 ends with '\\r\\n', not '\\n'" in refused(diff, {"a.txt": mixed})
    exact = "--- a.txt\n+++ a.txt\n@@\n line 4\n-line 5\r\n+line 5\n"
    assert apply(exact, {"a.txt": mixed}).changed == {"a.txt": TEN}


def test_a_removed_line_may_look_like_a_header() -> None:
    sql = "-- one\n++ two\nthree\n"
    diff = diff_of(sql, "three\n")
    assert "\n--- one\n" in diff
    assert apply(diff, {"a.txt": sql}).changed == {"a.txt": "three\n"}


def test_a_blank_line_of_context_may_have_lost_its_space() -> None:
    diff = "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c"
    assert apply(diff, {"a.txt": "a\n\nb\n"}).changed == {"a.txt": "a\n\nc\n"}


def test_hunks_alone_are_for_the_file_that_is_named() -> None:
    diff = "@@ -5 +5 @@\n-line 5\n+five\n"
    assert apply(diff, {"a.txt": TEN}, "a.txt").changed == {"a.txt": TEN.replace("line 5", "five")}
    assert "neither a header" in refused(diff, {"a.txt": TEN})


HEADER = "--- a/a.txt\n+++ b/a.txt\n"


@pytest.mark.parametrize(
    ("diff", "words"),
    [
        ("", "has no hunk"),
        ("hello", "neither a header"),
        (HEADER, "no hunk (@@) follows"),
        ("--- a/a.txt\n@@ -1 +1 @@\n-a\n+b\n", "+++ must follow"),
        (HEADER + "@@ -1,2 +1,2 @@\n-line 1\n+one\n", "but has 1 and 1"),
        (HEADER + "@@ -1,1 +1,1 @@\n-line 1\n+one\n line 2\n", "but has 2 and 2"),
        (HEADER + "@@ -x +y @@\n-line 1\n+one\n", "a hunk begins with"),
        (HEADER + "@@\n*line 1\n", "begins with ' ', '+' or '-'"),
        (HEADER + f"@@\n{NO_END}\n", "stands behind a line"),
        (HEADER + "@@\n line 1\n", "changes nothing"),
        (HEADER + "@@ -1,0 +1,1 @@\n+zero\n", "without any context"),
        (HEADER + "@@\n-line 1\n+one\n" + HEADER + "@@\n-line 2\n+two\n", "twice"),
        ("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n", "but it is there"),
        ("--- a/none.txt\n+++ b/none.txt\n@@\n-x\n+y\n", "there is no file 'none.txt'"),
        ("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-line 1\n", "but not all of its lines"),
        ("--- a/a.txt\n+++ b/b.txt\n@@\n-line 1\n+one\n", "renames"),
        ("diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n", "renaming"),
        ("diff --git a/e b/e\nnew file mode 100644\nindex 000..e69\n", "no hunks follow"),
        ("diff --git a/e b/e\nold mode 1\ndiff --git a/f b/f\n", "no hunks follow"),
        ('--- "a/\\303.txt"\n+++ "b/\\303.txt"\n@@\n-x\n+y\n', "without quotes"),
        ("--- /dev/null\n+++ /dev/null\n@@\n-x\n+y\n", "names no file"),
        ("--- ../up.txt\n+++ ../up.txt\n@@\n-x\n+y\n", "no '..'"),
        (f"--- a/a.txt\n+++ b/a.txt\n@@ -{'9' * 5_000} +1 @@\n-line 1\n", "a hunk begins with"),
        ("--- /etc/passwd\n+++ /etc/passwd\n@@\n-x\n+y\n", "relative to the workspace"),
    ],
)
def test_what_is_no_diff_of_these_files_is_refused(diff: str, words: str) -> None:
    assert words in refused(diff, {"a.txt": TEN})


def test_a_hostile_diff_takes_no_time() -> None:
    """A file and a hunk whose every line is alike, but for the hunk's last."""
    text = "a\n" * 200_000
    diff = "--- x\n+++ x\n@@\n" + " a\n" * 20_000 + "-b\n+c\n"
    assert "does not fit" in refused(diff, {"x": text})


def test_many_hunks_are_not_looked_for_in_a_large_file() -> None:
    text = "a\n" * 200_000
    hunks = "@@\n-b\n+c\n" * 1_000
    assert "too much to look for" in refused(f"--- x\n+++ x\n{hunks}", {"x": text})
    named = "--- x\n+++ x\n@@ -150000 +150000 @@\n-a\n+c\n" + "".join(
        f"@@ -{line} +{line} @@\n-a\n+c\n" for line in range(150_001, 150_100)
    )
    after = apply(named, {"x": text}).changed["x"]
    assert after.count("c") == 100  # where the lines are named, nothing is looked for
