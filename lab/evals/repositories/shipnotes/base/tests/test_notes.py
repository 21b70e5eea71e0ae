from shipnotes import fragments
from shipnotes.notes import render


def test_by_kind(folder):
    text = render("1.5.0", fragments.read(folder))
    assert text.startswith("# 1.5.0\n\n## Features\n\n- Reads from standard input (#12)\n")
    assert text.endswith("## Fixes\n\n- No crash on empty input (#9)\n")
