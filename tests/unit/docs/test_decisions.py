"""Every record of docs/decisions has a status and a date, and the index has every record."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support.cases.markdown_pages import REPOSITORY, table_after

FOLDER = REPOSITORY / "docs" / "decisions"
LIVE = sorted(FOLDER.glob("0*.md"))
ARCHIVE = sorted(FOLDER.glob("archive/0*.md"))
RECORDS = LIVE + ARCHIVE
CITATION = re.compile(r"\bADR (\d+)")
HEAD = re.compile(
    r"# (?P<number>\d+)\. (?P<title>.+)\n\n"
    r"Status: (?P<status>accepted|superseded by \[\d+\]\((?P<successor>[\w./-]+\.md)\)), "
    r"(?P<date>\d{4}-\d\d-\d\d)\b"
)


def head(record: Path) -> re.Match[str]:
    match = HEAD.match(record.read_text())
    assert match is not None, f"{record.name} lacks its title, status or date: see the README there"
    return match


def number(record: Path) -> int:
    return int(record.name[:4])


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_record_has_a_number_a_status_and_a_date(record: Path) -> None:
    match = head(record)
    assert int(match["number"]) == number(record)
    if match["successor"]:
        successor = record.parent / match["successor"]
        assert record.name in successor.read_text(), "its successor names it"


@pytest.mark.parametrize(("section", "records"), [("## Live", LIVE), ("## Archive", ARCHIVE)])
def test_the_index_has_every_record(section: str, records: list[Path]) -> None:
    rows = table_after(FOLDER / "README.md", section)
    indexed = {(int(index), link, date) for index, link, _, date in rows}
    heads = [(head(record), record.relative_to(FOLDER)) for record in records]
    assert indexed == {
        (int(match["number"]), f"[{match['title']}]({path})", match["date"])
        for match, path in heads
    }
    statuses = {int(index): status for index, _, status, _ in rows}
    for match, path in heads:
        successor = match["successor"]
        expected = f"superseded by {number(Path(successor))}" if successor else "accepted"
        assert statuses[int(match["number"])].startswith(expected), path


def test_code_cites_the_live_records_and_no_missing_record() -> None:
    """A reader of the code can look up the reason."""
    paths = subprocess.run(
        [
            "git",
            "grep",
            "--untracked",
            "-lE",
            "ADR [0-9]+",
            "--",
            ":!docs",
            ":!tests",
            ":!CHANGELOG.md",
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    cited = {
        int(citation)
        for path in paths
        for citation in CITATION.findall((REPOSITORY / path).read_text())
    }
    assert cited - {number(record) for record in RECORDS} == set()
    assert {number(record) for record in LIVE} - cited == set()
