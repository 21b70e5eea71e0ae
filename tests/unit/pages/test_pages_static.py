"""The files of the pages: vendored files match their list, and the scripts are small."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from api.pages.rendering import FOLDER as TEMPLATES
from api.pages.static import BUNDLES, DOCUMENTATION, FOLDER, address, asset

VENDOR = FOLDER / "vendor"
LISTED = json.loads((VENDOR / "versions.json").read_text())


def test_every_vendored_file_is_listed_with_its_digest():
    vendored = {path.name for path in VENDOR.iterdir()} - {"versions.json"}
    assert vendored == {entry["file"] for entry in LISTED}
    for entry in LISTED:
        content = (VENDOR / entry["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["sha256"], entry["file"]
        assert re.fullmatch(r"\d+\.\d+\.\d+", entry["version"])


def test_the_scripts_of_the_pages_have_at_most_60_kb_and_with_the_editor_120_kb():
    sizes = {name: len(asset(name).zipped) for name in BUNDLES if name.endswith(".js")}
    editor = sizes.pop("editor.js")
    assert sum(sizes.values()) <= 60 * 1024
    assert sizes["htmx.js"] + sizes["fettle.js"] + editor <= 120 * 1024


def test_every_part_of_a_bundle_exists_and_is_used():
    parts = {part for parts in (BUNDLES | DOCUMENTATION).values() for part in parts}
    classes = {
        str(path.relative_to(FOLDER))
        for path in FOLDER.rglob("*")
        if path.is_file() and path.suffix not in {".json", ".txt"}
    }
    assert parts == classes


def test_an_address_changes_with_the_content():
    assert asset("fettle.css").digest in address("fettle.css")


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.[jc]s*")), ids=lambda path: path.name)
def test_no_file_of_fettle_requests_another_host(path):
    if path.parent != VENDOR:
        assert not re.search(r"""["'`(]\s*(https?:)?//""", path.read_text())


@pytest.mark.parametrize("path", sorted(TEMPLATES.rglob("*.html")), ids=lambda path: path.name)
def test_no_template_has_inline_script_or_style(path):
    text = path.read_text()
    assert not re.search(r"\sstyle=|\son[a-z]+=|javascript:|<style|hx-on|hx-vars|\bjs:", text)
    assert not re.search(r"""(src|href|action|hx-\w+)=["']?https?:""", text)
