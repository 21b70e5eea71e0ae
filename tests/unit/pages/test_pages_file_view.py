"""The content of a file as its page shows it, for any bytes."""

from __future__ import annotations

import base64
import json

import pytest

from api.pages.format import file_view
from api.pages.format.file_view import view_file


def text_of(path: str, content: str) -> str:
    return "".join(view_file(path, content.encode()).parts)


def notebook(*cells: object, **more: object) -> str:
    return json.dumps({"nbformat": 4, "cells": cells, **more})


def test_a_table_has_rows_of_the_same_length():
    view = view_file("data/a.csv", b'name,"n, m"\nada,1\n\nbob\n')
    assert view.rows == [["name", "n, m"], ["ada", "1"], ["", ""], ["bob", ""]]
    assert view_file("a.TSV", b"a\tb,c\n").rows == [["a", "b,c"]]
    long = view_file("a.csv", b"1,2\n" * 2_000)
    assert (len(long.rows), long.note) == (1_000, "These are the first 1,000 rows of the file.")
    wide = view_file("a.csv", (b"1," * 15_000 + b"\n") * 3)
    assert len(wide.rows) == 1


def test_formatted_words_have_no_active_content():
    html = text_of(
        "README.md", "# Title\n<script>1</script> ![x](https://e.example/p.png)\n[a](/app)"
    )
    assert "<p>Title</p>" in html
    assert not [tag for tag in ("<script", "<img", "<h1", 'href="/app"') if tag in html]


def test_a_notebook_shows_cells_with_their_output():
    cells = [
        {"cell_type": "markdown", "source": ["# Plan\n", "<b>"]},
        {
            "cell_type": "code",
            "source": "print('<i>')",
            "outputs": [
                {"output_type": "stream", "text": ["<u>\n"]},
                {"data": {"text/plain": "<Figure>", "image/png": "iVBOR"}},
                {"data": {"text/plain": "<Figure>", "image/svg+xml": "<svg>"}},
                {"data": {"text/html": "<table>"}},
            ],
        },
    ]
    html = text_of("a.ipynb", notebook(*cells))
    assert ("<p>Plan" in html, "&lt;u&gt;" in html, "(image/png: see the file)" in html) == (
        True,
    ) * 3
    assert "(text/html: see the file)" in html
    assert not [tag for tag in ("<b>", "<i>", "<u>", "<Figure>", "<table>") if tag in html]
    long = view_file("a.ipynb", notebook(*cells[:1] * 203).encode())
    assert (len(long.parts), long.note) == (200, "3 more cells are not shown.")
    wordy = [{"cell_type": "code", "source": "", "outputs": [{"text": "x" * 100_000}]}] * 3
    assert view_file("a.ipynb", notebook(*wordy).encode()).note == "1 more cells are not shown."
    large = notebook(*cells, x="y" * file_view.MAX_BYTES).encode()
    assert len(large) < file_view.max_bytes("a.ipynb")
    assert "<p>Plan" in view_file("a.ipynb", large).parts[0]
    assert "too large" in view_file("a.ipynb", b"no JSON" * file_view.MAX_BYTES).note


def encoded(content: bytes) -> str:
    return base64.encodebytes(content).decode()


BITMAPS = {
    "image/png": b"\x89PNG\r\n\x1a\n" + bytes(80),
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
}


@pytest.mark.parametrize("kind", BITMAPS)
def test_a_notebook_shows_bitmaps(kind):
    content = BITMAPS[kind]
    outputs = [{"data": {"text/plain": ["<Figure>"], kind: encoded(content)}}]
    cells = [
        {"cell_type": "code", "source": "plot()", "outputs": outputs},
        {
            "cell_type": "markdown",
            "source": "![x](attachment:a.png)",
            "attachments": {'"a.png': {kind: encoded(content)}},
        },
    ]
    html = text_of("a.ipynb", notebook(*cells))
    address = f"data:{kind};base64,{base64.b64encode(content).decode()}"
    assert f'<img src="{address}" alt="&lt;Figure&gt;">' in html
    assert f'<img src="{address}" alt="&#34;a.png">' in html


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("image/png", "no base64"),
        ("image/png", encoded(b"<svg onload=alert(1)>")),
        ("image/png", encoded(BITMAPS["image/gif"])),
        ("image/svg+xml", encoded(b"<svg>")),
        ("image/svg+xml", "<svg>"),
        ("text/html", "<img src=x>"),
        ('image/png" onerror="x', encoded(BITMAPS["image/png"])),
    ],
)
def test_a_notebook_shows_nothing_else_as_a_picture(kind, content):
    cell = {"cell_type": "code", "source": "", "outputs": [{"data": {kind: content}}]}
    html = text_of("a.ipynb", notebook(cell))
    assert ("<img" in html, ": see the file)" in html) == (False, True)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.ipynb", "no JSON <b>"),
        ("a.ipynb", "[" * 100_000 + "<b>"),
        ("a.ipynb", notebook({"cell_type": "code", "x": "<b>"})),
        ("a.ipynb", notebook({"cell_type": "code", "source": 5}, x="<b>")),
        ("a.ipynb", notebook(None, x="<b>")),
        ("a.ipynb", '"<b>"'),
        ("a.csv", '"' + "x" * 200_000 + "<b>"),
        ("a.csv", "," * 100_000 + "<b>"),
        ("a.png", "print('<b>')"),
        ("a.py", "'<b>'"),
        ("noending", "<b>"),
    ],
)
def test_a_file_of_another_form_than_its_name_says_is_code(path, content):
    html = text_of(path, content)
    assert (html.startswith('<pre class="code"'), "<b>" in html) == (True, False)


def test_other_bytes_are_not_shown():
    assert (
        view_file("a.txt", b"caf\xe9").note == view_file("a", b"\0").note == "The file is not text."
    )
    assert view_file("a.csv", b"").rows == ()
    assert "too large" in view_file("a.csv", None).note
    assert view_file("a.png", b"\x89PNG").note == ""
    assert (view_file("a.PNG", None).note, file_view.is_picture("a.PNG")) == ("", True)
    assert not file_view.is_picture("a.svg")


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


@pytest.mark.parametrize(
    "parts",
    [
        {"outputs": [{}] * 50_000},
        {"outputs": [{"data": {"image/png": PNG}}] * 50_000},
        {"outputs": [{"data": {f"form-{n}": "" for n in range(50_000)}}]},
        {"attachments": {f"{n}.png": {"image/png": PNG} for n in range(50_000)}},
    ],
)
def test_a_notebook_of_many_small_outputs_is_cut(parts):
    cells = [{"cell_type": "code", "source": source} for source in ("first", "second", "third")]
    view = view_file("a.ipynb", notebook(cells[0], {**cells[1], **parts}, cells[2]).encode())
    assert len(view.parts) == 1
    assert view.note == "2 more cells are not shown."
