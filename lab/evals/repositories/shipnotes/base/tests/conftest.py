import pytest


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "9.fix.md").write_text("No crash on empty input\n")
    (tmp_path / "12.feature.md").write_text("Reads from standard input\n\nWith details.\n")
    return tmp_path
