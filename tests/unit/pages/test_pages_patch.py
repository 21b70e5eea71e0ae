"""Git's patch, divided into the files that a page shows."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.changes import NOW, START, Changes
from api.pages.format import code
from api.pages.format import patch as patch_pages
from api.pages.format.patch import changed_words, fact_text, folder_tree
from api.pages.rendering import render_template
from jobs.model.record import PatchRef
from jobs.view.attention import attention_of
from jobs.view.patch import MAX_LINES, parse_patch

OWN = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
LINES = "".join(f"line {number}\n" for number in range(1, 31))


@pytest.fixture
def patch(tmp_path):
    """The patch between two sets of files, as git makes it."""

    def git(*words: str) -> bytes:
        return subprocess.check_output(["git", *words], cwd=tmp_path, env=OWN)

    def put(files: dict[str, bytes | str]) -> None:
        for path, content in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            raw = content if isinstance(content, bytes) else content.encode()
            (tmp_path / path).write_bytes(raw)

    def make_patch(before, after, removed=(), executable=()) -> bytes:
        git("init", "--quiet")
        put(before)
        git("add", "--all")
        tree = git("write-tree").decode().strip()
        put(after)
        for path in removed:
            Path(tmp_path, path).unlink()
        git("add", "--all")
        for path in executable:
            git("update-index", "--chmod=+x", path)
        form = ("--binary", "--full-index", "--find-renames")
        return git("diff", "--cached", *form, tree)

    return make_patch


def render_patch(content: bytes, comments=(), **options):
    return patch_pages.render_patch(parse_patch(content), comments, **options)


def page_of(rendered, content: bytes, *, split: bool) -> str:
    """The HTML of a patch."""
    files = parse_patch(content)
    changes = Changes(START, NOW, files, PatchRef("ab", 1, 2, 2, 2, "c" * 40))
    values = {"job_id": "j", "changes": changes, "rendered_patch": rendered, "review": None}
    return render_template("patch.html", split=split, **values)


def lines_of(content: bytes, *comments, split: bool = False) -> str:
    (file,) = render_patch(content, comments, split=split)["files"]
    return str(file.lines)


def by_path(content: bytes):
    return {file.path: file for file in parse_patch(content)}


def test_each_change_is_a_file_with_its_lines_and_notes(patch):
    files = by_path(
        patch(
            {"a.py": LINES, "old.py": LINES * 2, "gone.py": "1\n2\n", "run.sh": "x\n", "e": ""},
            {
                "a.py": LINES.replace("line 30", "line thirty").replace("line 1\n", "one\n1.5\n"),
                "pkg/new name.py": LINES * 2,
                "täst/ü\t.py": "N = 1",
                "empty.py": "",
                "picture.png": b"\x89PNG\0\xff",
            },
            removed=["old.py", "gone.py"],
            executable=["run.sh"],
        )
    )
    about = {path: (file.notes, file.insertions, file.deletions) for path, file in files.items()}
    assert about == {
        "a.py": ((), 3, 2),
        "pkg/new name.py": (("renamed from old.py",), 0, 0),
        "gone.py": (("deleted",), 0, 2),
        "run.sh": (("executable",), 0, 0),
        "täst/ü\t.py": (("new",), 1, 0),
        "empty.py": (("new",), 0, 0),
        "picture.png": (("new", "binary"), 0, 0),
    }
    assert files["picture.png"].rows == ()
    assert files["täst/ü\t.py"].rows[-1].text == "\\ No newline at end of file"


def test_links_and_submodules_are_named_and_a_change_of_kind_is_one_file(tmp_path):
    def git(*words: str) -> bytes:
        return subprocess.check_output(["git", *words], cwd=tmp_path, env=OWN)

    def link(path: str, target: str) -> None:
        (tmp_path / path).unlink(missing_ok=True)
        (tmp_path / path).symlink_to(target)

    git("init", "--quiet")
    for path in ("moved", "gone", "was-link"):
        link(path, "a.txt")
    for path in ("was-file", "tool.sh"):
        (tmp_path / path).write_text("1\n2\n")
    (tmp_path / "tool.sh").chmod(0o755)
    git("add", "--all")
    for path in ("module", "other"):
        git("update-index", "--add", "--cacheinfo", f"160000,{'a' * 40},{path}")
    before = git("write-tree").decode().strip()
    link("moved", "b.txt")
    link("new", "b.txt")
    (tmp_path / "gone").unlink()
    link("was-file", "a.txt")
    (tmp_path / "was-link").unlink()
    (tmp_path / "was-link").write_text("1\n2\n3\n")
    (tmp_path / "tool.sh").chmod(0o644)
    git("add", "--all", "--", ".", ":!module", ":!other")
    git("update-index", "--cacheinfo", f"160000,{'b' * 40},module")
    git("update-index", "--force-remove", "other")
    files = parse_patch(git("diff", "--cached", "--no-renames", before))
    assert {file.path: file.notes for file in files} == {
        "gone": ("deleted symbolic link",),
        "module": ("submodule",),
        "moved": ("symbolic link",),
        "new": ("new symbolic link",),
        "other": ("deleted submodule",),
        "tool.sh": ("not executable",),
        "was-file": ("deleted", "new symbolic link"),
        "was-link": ("deleted symbolic link", "new"),
    }
    assert len(files) == 8
    (was_link,) = (file for file in files if file.path == "was-link")
    assert (was_link.insertions, was_link.deletions) == (3, 1)
    assert [row.new for row in was_link.rows if row.kind == "added"] == [1, 2, 3]


def test_invisible_characters_in_names_are_escaped(patch):
    content = patch({}, {"Shot\u202fPM/\U0001f468\u200d\U0001f469.md": "1\n"})
    html = page_of(render_patch(content), content, split=False)
    visible_html = re.sub(r'data-path="[^"]*"', "", html)
    assert visible_html.count("Shot\\u202fPM/\U0001f468\\u200d\U0001f469.md") >= 2
    assert "\u202f" not in visible_html


@pytest.mark.parametrize(
    "name", ['with "quotes"', 'größe "x', "a\\b", "b/ b/b", "Shot\u202fPM", " "]
)
def test_a_file_without_lines_is_shown_with_its_name(patch, name):
    assert [file.path for file in parse_patch(patch({}, {f"new {name}": ""}))] == [f"new {name}"]
    changed = patch({name: "1\n"}, {}, executable=[name])
    assert [file.path for file in parse_patch(changed)] == [name]


def test_lines_have_their_numbers_in_both_files(patch):
    after = LINES.replace("line 12\n", "").replace("line 28\n", "line 28\nline 28.5\n")
    content = patch({"a": LINES}, {"a": after})
    (file,) = parse_patch(content)
    rows = [(row.old, row.new, row.text) for row in file.rows if row.kind != "place"]
    assert (12, None, "-line 12") in rows
    assert (13, 12, " line 13") in rows
    assert (None, 28, "+line 28.5") in rows
    assert (30, 30, " line 30") in rows
    html = lines_of(content)
    assert '<span class="d-removed" data-n="12    ">-line 12</span>' in html
    assert html.count("<span") == len(file.rows)


def test_a_line_that_looks_like_a_header_is_a_line(patch):
    evil = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-<script>\n+\u202ex\n"
    content = patch({"a.patch": "1\n"}, {"a.patch": evil})
    (file,) = parse_patch(content)
    assert (file.path, file.insertions, file.deletions) == ("a.patch", 6, 1)
    html = lines_of(content)
    assert "&lt;script&gt;" in html
    assert "\\u202e" in html


@pytest.mark.parametrize(
    ("path", "content", "reason"),
    [
        ("a.py", "x\n" * 400, ""),
        ("a.py", "x\n" * 600, "600 changed lines"),
        ("web/package-lock.json", "{}\n", "generated, by its name"),
        ("uv.lock", "x\n", "generated, by its name"),
        ("app.min.js", "x\n", "generated, by its name"),
        ("bundle.js", "x" * 5_000, "generated: a line has 5,000 characters"),
        ("locksmith.py", "x\n", ""),
    ],
)
def test_large_and_generated_files_are_folded(patch, path, content, reason):
    (file,) = render_patch(patch({}, {path: content}))["files"]
    assert file.folded == reason


def test_a_very_long_line_is_shortened(patch):
    assert "4,001 more characters" in lines_of(patch({}, {"a.js": "x" * 5_000}))


def test_the_tree_joins_folders_that_contain_a_single_folder(patch):
    files = parse_patch(
        patch({}, {"src/app/core/a.py": "1\n", "src/app/b.py": "1\n", "c.py": "1\n"})
    )
    top = folder_tree(files)
    assert list(top.files) == ["c.py"]
    assert list(top.folders) == ["src/app"]
    assert list(top.folders["src/app"].folders["core"].files) == ["a.py"]
    assert files[top.folders["src/app"].files["b.py"]].path == "src/app/b.py"


def test_the_number_of_lines_on_a_page_is_limited(patch):
    half = "x\n" * (MAX_LINES // 2)
    rendered = render_patch(patch({}, {"a": half, "b": half, "c": "1\n"}))
    assert [bool(file.lines) for file in rendered["files"]] == [True, False, False]
    assert [bool(file.file.unread) for file in rendered["files"]] == [False, True, True]
    assert [file.digest == "" for file in rendered["files"]] == [False, True, True]


def test_different_bytes_that_are_not_text_look_different(patch):
    (file,) = parse_patch(patch({"a": b"caf\xe9\n"}, {"a": b"caf\xe8\n"}))
    assert [row.text for row in file.rows[1:]] == ["-caf\\xe9", "+caf\\xe8"]


@given(
    st.lists(
        st.sampled_from(
            [
                "diff --git a/x b/x", 'diff --git "a/\\303" "b/\\303"', "diff --git ", "--- a/x",
                "+++ b/x", "+++ /dev/null", "--- /dev/null", "@@ -1 +1 @@", "@@ -1,3 +2,4 @@ f",
                "-a", "+b", " c", "\\ No newline", 'rename from "', "rename to y", "new mode",
                "GIT binary patch", "", "+++ b/a/../b", '+++ "b/\\777\\q"', "+++ b//",
            ]
        )
        | st.text(max_size=20),
        max_size=25,
    )
)  # fmt: skip
def test_any_patch_can_be_shown(lines):
    content = "\n".join(lines).encode(errors="surrogatepass")
    for split in (False, True):
        rendered = render_patch(content, split=split)
        assert "changed" in page_of(rendered, content, split=split)


@pytest.mark.parametrize("content", [b"", b"no patch", b"diff --git \n@@ -1 +1 @@", b"\xff\0"])
def test_a_text_that_is_no_patch_has_no_files_and_raises_no_error(content):
    assert sum(file.file.insertions for file in render_patch(content)["files"]) == 0


def test_each_side_of_a_hunk_is_coloured_as_one_text(patch):
    before = '"""One.\n\nTwo.\n"""\nA = 1\n'
    html = lines_of(patch({"a.py": before}, {"a.py": before.replace("Two.", "def two():")}))
    assert '+<span class="sd">def two():</span></span>' in html
    assert ' <span class="n">A</span>' in html
    large = lines_of(patch({}, {"a.py": "A = 1\n" * 600}))
    assert 'class="n"' not in large, "it would take too long"


def test_a_text_that_takes_a_lexer_minutes_is_shown_without_colours(patch, monkeypatch):
    content = patch({}, {"A.java": f"{'a ' * 20}\n" * 400})
    monkeypatch.setattr(code, "COLOUR_SECONDS", 0.2)
    html = lines_of(content)
    assert 'class="n"' not in html
    assert html.count("+a a a") == 400


def test_both_sides_are_shown_next_to_each_other(patch):
    after = LINES.replace("line 12\nline 13\n", "dozen\n").replace("line 28\n", "line 28\n28.5\n")
    html = lines_of(patch({"a": LINES}, {"a": after}), split=True).split("\n")
    cells = [re.sub("<[^>]*>", "", cell) for cell in html if "across" not in cell]
    pairs = list(zip(cells[::2], cells[1::2], strict=True))
    assert ("-line 12", "+dozen") in pairs
    assert ("-line 13", "") in pairs
    assert ("", "+28.5") in pairs
    assert (" line 14", " line 14") in pairs
    assert '<span class="right d-same" data-n="13"> line 14</span>' in html


@pytest.mark.parametrize("split", [False, True])
def test_earlier_comments_are_shown_at_their_lines(patch, split):
    content = patch({"a": LINES, "b": "1\n"}, {"a": LINES.replace("line 12\n", "x\n"), "b": "2\n"})

    def comment(path: str, line: int, now: int | None, text: str):
        lines = {"excerpt": ["+<x>"], "at": 0, "line": line, "now": now, "side": "new"}
        return {**lines, "path": path, "text": text, "by": "<ada>", "outdated": now is None}

    comments = [
        comment("a", 10, 12, "Is it <b>?"),
        comment("a", 2, None, "Gone."),
        comment("c", 1, None, "Where?"),
    ]
    rendered = render_patch(content, comments, split=split)
    first, second = rendered["files"]
    lines = [re.sub("<[^>]*>", "", item) for item in str(first.lines).split("\n")]
    position = next(i for i, line in enumerate(lines) if line.startswith("&lt;ada&gt;"))
    assert (lines[position - 1], lines[position]) == (
        "+x",
        "&lt;ada&gt; on line 10: the line is as it was",
    )
    assert lines[position + 1] == "Is it &lt;b&gt;?"
    assert [item["text"] for item in first.apart] == ["Gone."]
    assert (second.apart, [item["text"] for item in rendered["apart"]]) == ((), ["Where?"])
    html = page_of(rendered, content, split=split)
    assert "<code>+&lt;x&gt;</code>\nGone." in html
    assert "c is no longer changed" in html


def marked(before: str, after: str) -> tuple[str, str]:
    """Both lines, with the marked parts in brackets."""
    spans = changed_words(f"-{before}", f"+{after}") or ((0, 0), (0, 0))
    lines = zip((f"-{before}", f"+{after}"), spans, strict=True)
    first, second = (
        f"{line[1:start]}[{line[start:end]}]{line[end:]}" if end > start else line[1:]
        for line, (start, end) in lines
    )
    return first, second


def test_words_that_differ_are_marked():
    assert marked("return a + b", "return a - b") == ("return a [+] b", "return a [-] b")
    assert marked("call(old_name)", "call(new_name, 2)") == (
        "call([old_name])",
        "call([new_name, 2])",
    )
    assert marked("f(a)", "f(a, b)") == ("f(a)", "f(a[, b])")
    assert marked("    x = 1", "        x = 1") == ("    x = 1", "    [    ]x = 1")
    assert marked("return one", "yield another") == ("return one", "yield another")
    assert marked("", "x") == ("", "x")


def test_marked_words_keep_colours_and_escapes(patch):
    content = patch({"a.py": "A = '<b>' + one  # 1\n"}, {"a.py": "A = '<i>&' + one  # 1\n"})
    for split in (False, True):
        html = lines_of(content, split=split)
        assert "&lt;<mark>b&gt;</mark>" in html
        assert "&lt;<mark>i&gt;&amp;</mark>" in html
        assert html.count("<mark>") == html.count("</mark>")
        assert re.sub("<[^>]*>", "", html).count("-A = '&lt;b&gt;' + one  # 1") == 1
    plain = lines_of(patch({"x": "a <b>\u202e c\n"}, {"x": "a <b>\u202e d\n"}))
    assert "a &lt;b&gt;\\u202e <mark>c</mark>" in plain


def test_files_to_look_at_come_first_and_are_marked(patch):
    content = patch(
        {"a.py": "1\n", "tests/test_z.py": "def test_a():\n    assert 1 == one()\n"},
        {"a.py": "2\n", "tests/test_z.py": "@pytest.mark.skip('`<b>`')\ndef test_a():\n    pass\n"},
    )
    facts = {file.path: file.facts for file in attention_of(parse_patch(content))}
    rendered = render_patch(content, facts=facts)
    assert [file.file.path for file in rendered["files"]] == ["tests/test_z.py", "a.py"]
    html = page_of(rendered, content, split=False)
    assert '<a href="#change-1">tests/test_z.py</a>: ' in html
    assert html.count('class="look-at"') == 2, "in the tree and at the file"
    assert "1 assertion fewer" in html
    assert "<b>" not in html
    assert html.index("What to look at") < html.index('id="change-1"')
    assert "What to look at" not in page_of(render_patch(b""), b"", split=False)


def test_a_fact_shows_quoted_text_as_code():
    assert fact_text("skipped: `<x>\u202e` and `b") == (
        "skipped: <code>&lt;x&gt;\\u202e</code> and <code>b</code>"
    )


def test_a_change_has_the_same_digest_only_if_it_is_the_same(patch):
    before = {"a": LINES, "b": LINES}
    after = {"a": LINES.replace("line 1\n", ""), "b": LINES.replace("line 2\n", "")}
    first = {f.file.path: f.digest for f in render_patch(patch(before, after))["files"]}
    after["b"] = LINES.replace("line 3\n", "")
    second = {f.file.path: f.digest for f in render_patch(patch(before, after))["files"]}
    assert (first["a"] == second["a"], first["b"] == second["b"]) == (True, False)
    (binary,) = render_patch(patch({}, {"x.png": b"\0"}))["files"]
    assert binary.digest == "", "its bytes may differ"


def gaps_of(before: str, after: str, **options) -> list[str]:
    """The texts of the links to gaps in a patch of `a.py`."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    diff = "".join(unified_diff(old, new, "a/a.py", "b/a.py"))
    rendered = render_patch(
        f"diff --git a/a.py b/a.py\n{diff}".encode(), after=("j1", "2"), **options
    )
    return re.findall(r"<a [^>]*>([^<]*)</a>", str(rendered["files"][0].lines))


def numbered_lines(count: int, **changed: str) -> str:
    return "".join(f"{changed.get(f'_{n}', f'line {n}')}\n" for n in range(1, count + 1))


@pytest.mark.parametrize("split", [False, True])
def test_gaps_between_hunks_have_links(split):
    before = numbered_lines(300)
    after = numbered_lines(300, _10="ten\nmore", _200="two hundred")
    assert gaps_of(before, after, split=split) == [
        "Show lines 1 to 6",
        "Show lines 15 to 197",
        "Show lines 205 to the end",
    ]
    assert gaps_of(before, numbered_lines(300, _2="two", _299="x")) == ["Show lines 6 to 295"]
    assert gaps_of(numbered_lines(5), numbered_lines(5, _2="two")) == ["Show lines 6 to the end"]


@pytest.mark.parametrize("split", [False, True])
def test_a_gap_shows_the_lines_nearest_to_its_hunk(split):
    content = numbered_lines(300).replace("line 197", "<b>").encode()
    gap = patch_pages.Gap("j1", "a.py", "now", 15, 197, -1, 4, split)
    html = str(patch_pages.render_gap(content, gap))
    assert html.count("d-context") == 100 * (1 + split)
    assert html.startswith('<span class="d-place')
    assert "Show lines 15 to 97</a>" in html
    numbers = ['" 197"', '" 196"'] if split else ['" 196   197"']
    assert all(f"data-n={number}> &lt;b&gt;<" in html for number in numbers)
    first = str(patch_pages.render_gap(content, replace(gap, last=97)))
    assert (first.count("d-context"), "<a" in first) == (83 * (1 + split), False)
    tail = str(patch_pages.render_gap(content, replace(gap, first=205, last=0)))
    assert ("line 300" in tail, "<a" in tail) == (True, False)
    assert "d-context" not in str(patch_pages.render_gap(content, replace(gap, first=301, last=0)))
    too_large = str(patch_pages.render_gap(None, gap))
    assert ("d-place" in too_large, "too large" in too_large) == (True, True)
