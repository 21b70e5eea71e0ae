from slugs import new_names
from slugs.cli import main


def test_names():
    names = ["My Photo.JPG", "my photo.jpg", "notes.txt", "!!!.md"]
    assert new_names(names) == {
        "My Photo.JPG": "my-photo.jpg",
        "my photo.jpg": "my-photo-2.jpg",
        "notes.txt": "notes.txt",
        "!!!.md": "file.md",
    }


def test_the_command_renames_only_on_request(tmp_path, capsys):
    (tmp_path / "A B.txt").write_text("x")
    assert main(["files", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "A B.txt -> a-b.txt\n"
    assert (tmp_path / "A B.txt").exists()
    assert main(["files", "--apply", str(tmp_path)]) == 0
    assert (tmp_path / "a-b.txt").read_text() == "x"
