"""docs/architecture.md names files that exist, and every package."""

from __future__ import annotations

import re
import tomllib

from support.cases.markdown_pages import REPOSITORY, table_after

PAGE = REPOSITORY / "docs" / "architecture.md"


def test_every_question_is_answered_by_files_that_exist() -> None:
    rows = table_after(PAGE, "## Where to change what")
    assert len(rows) >= 12
    for question, first, then in rows:
        paths = re.findall(r"`([a-z_]+(?:/[\w.]+)*)`", f"{first} {then}")
        assert paths, question
        missing = [path for path in paths if not (REPOSITORY / path).exists()]
        assert not missing, (question, missing)


def test_every_path_on_the_page_exists() -> None:
    paths = re.findall(r"`([a-z_]+/[\w./]*)`", PAGE.read_text())
    assert paths
    assert not [path for path in paths if not (REPOSITORY / path).exists()]


def test_the_page_names_every_package() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    folders = {row[0].strip("`/") for row in table_after(PAGE, "## Packages")}
    assert folders == {*packages, "fettle", "lab", "deploy"}
