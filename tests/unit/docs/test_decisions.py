"""Every record of docs/decisions has a status and a date, and the index has every record."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.cases.markdown_pages import REPOSITORY, table_after

FOLDER = REPOSITORY / "docs" / "decisions"
RECORDS = sorted(FOLDER.glob("0*.md"))
NOT_PYTHON = ("docker-compose.yml", ".ci/run")
HEAD = re.compile(
    r"# (?P<number>\d+)\. (?P<title>.+)\n\n"
    r"Status: (?P<status>accepted|superseded by \[\d+\]\((?P<successor>[\w-]+\.md)\)), "
    r"(?P<date>\d{4}-\d\d-\d\d)\b"
)


def head(record: Path) -> re.Match[str]:
    found = HEAD.match(record.read_text())
    assert found is not None, f"{record.name} lacks its title, status or date: see the README there"
    return found


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_record_has_a_number_a_status_and_a_date(record: Path) -> None:
    found = head(record)
    assert int(found["number"]) == int(record.name[:4])
    if found["successor"]:
        assert record.name in (FOLDER / found["successor"]).read_text(), "its successor names it"


def test_the_index_has_every_record() -> None:
    rows = table_after(FOLDER / "README.md", "# Decisions")
    written = {(int(number), link, date) for number, link, _, date in rows}
    found = [(head(record), record) for record in RECORDS]
    assert written == {
        (int(each["number"]), f"[{each['title']}]({record.name})", each["date"])
        for each, record in found
    }
    statuses = {int(number): status for number, _, status, _ in rows}
    for each, record in found:
        successor = int(each["successor"][:4]) if each["successor"] else None
        wanted = f"superseded by {successor}" if successor else "accepted"
        assert statuses[int(each["number"])].startswith(wanted), record.name


def test_what_a_decision_explains_names_it() -> None:
    """In a docstring or a comment, so that a reader of the code finds the reason."""
    modules = (
        path
        for path in REPOSITORY.glob("*/**/*.py")
        if path.relative_to(REPOSITORY).parts[0] not in {".venv", "tests"}
    )
    texts = [path.read_text() for path in (*modules, *map(REPOSITORY.joinpath, NOT_PYTHON))]
    cited = {name for text in texts for name in re.findall(r"docs/decisions/([\w-]+\.md)", text)}
    in_force = {record.name for record in RECORDS if head(record)["status"] == "accepted"}
    assert in_force - cited == set()
