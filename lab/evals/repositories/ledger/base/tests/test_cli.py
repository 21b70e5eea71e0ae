from tally.cli import main
from tests.journals import HOUSEHOLD


def test_balance(tmp_path, capsys):
    journal = tmp_path / "journal.txt"
    journal.write_text(HOUSEHOLD)
    assert main(["balance", str(journal)]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["assets", "-1,900.00"]


def test_an_error_is_one_line(tmp_path, capsys):
    assert main(["balance", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err.startswith("tally: ")
