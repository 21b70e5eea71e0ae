"""What was changed between two runs, as a repair shows it."""

from __future__ import annotations

from agents.failures.workspace_change import MOST_LINES, change


def test_a_change_counts_the_lines_that_differ() -> None:
    before = {"program": b"a\nb\nc\n", "gone.py": b"x\n"}
    after = {"program": b"a\nB\nc\n", "gone.py": None, "new.py": b"y\nz\n"}
    made = change(before, after)
    assert (made.added, made.removed) == (3, 2)
    assert "--- a/program\n+++ b/program\n@@ -1,4 +1,4 @@\n a\n-b\n+B\n" in made.diff
    assert "--- a/gone.py\n+++ /dev/null" in made.diff
    assert "--- /dev/null\n+++ b/new.py" in made.diff


def test_no_change_has_no_diff() -> None:
    assert change({"a": b"1"}, {"a": b"1"}).diff == ""


def test_what_is_no_text_or_too_long_is_told_by_its_size() -> None:
    made = change({"a.png": b"\xff", "big": b""}, {"a.png": b"\xff\xfe", "big": b"\n" * MOST_LINES})
    assert made.diff == "a.png differs (1 -> 2 bytes)\nbig differs (0 -> 2000 bytes)"
    assert (made.added, made.removed) == (0, 0)
