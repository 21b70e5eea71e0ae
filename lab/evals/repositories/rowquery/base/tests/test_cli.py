from importlib.metadata import version
from pathlib import Path

import pytest

import rowquery
from rowquery.cli import main

PEOPLE = str(Path(__file__).with_name("people.csv"))


def names(capsys, query):
    assert main([query, PEOPLE]) == 0
    return [line.partition(",")[0] for line in capsys.readouterr().out.splitlines()[1:]]


def test_rows(capsys):
    assert names(capsys, 'age > 30 and city = "London"') == ["Ada"]
    assert names(capsys, 'city ~ "graz" or age = 36') == ["Ada", "Bob", "Eve", "Zoë"]


def test_an_unknown_column(capsys):
    assert main(["size = 3", PEOPLE]) == 2
    assert capsys.readouterr().err == "rowquery: no such column: size\n"


def test_the_version_is_the_installed_one(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.strip() == version("rowquery") == rowquery.__version__
