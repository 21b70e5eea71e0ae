import pytest

from desk.cli import main


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--kg 0.5", "4.20 EUR"),
        ("--kg 1.5 --to FR", "11.30 EUR"),
        ("--kg 0.5 --value 80.50", "5.01 EUR"),
    ],
)
def test_quotes(words, line, capsys):
    assert main(["quote", *words.split()]) == 0
    assert capsys.readouterr().out == f"{line}\n"


def test_too_heavy(capsys):
    assert main(["quote", "--kg", "11"]) == 1
    assert capsys.readouterr().out == "not taken: 11 kg is more than 10 kg\n"
