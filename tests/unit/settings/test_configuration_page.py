from __future__ import annotations

from pathlib import Path

from settings.__main__ import page

REPOSITORY = Path(__file__).parents[3]


def test_the_page_has_every_setting() -> None:
    written = (REPOSITORY / "docs" / "configuration.md").read_text()
    assert written == page(), "write it again: python -m settings > docs/configuration.md"
