from shipnotes.cli import main


def test_notes(folder, capsys):
    assert main(["notes", str(folder)]) == 0
    assert capsys.readouterr().out.startswith("# Unreleased\n")


def test_an_error(folder, capsys):
    assert main(["next", "one", str(folder)]) == 1
    assert capsys.readouterr().err == "shipnotes: not a version: 'one'\n"
