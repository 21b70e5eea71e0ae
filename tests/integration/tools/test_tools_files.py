"""The file tools, as a model calls them."""

from __future__ import annotations

from pathlib import Path

from support.graph.graphs import PlannedSandbox, call
from support.graph.tool_runs import use

from sandbox.protocol import Limits

NOTES = "".join(f"line {number}\n" for number in range(1, 101))
FILES = {"notes.txt": NOTES.encode(), "src/a.py": b"x = 1\n", "src/deep/b.py": b"y = 2\n"}
NONE = PlannedSandbox({})


async def test_parts_of_a_file_are_read(tmp_path: Path) -> None:
    used = await use(
        tmp_path,
        NONE,
        call("read_file", path="src/a.py"),
        call("read_file", path="/work/notes.txt", offset=99),
        call("read_file", path="notes.txt", offset=2, limit=2),
        call("read_file", path="notes.txt", offset=101),
        call("read_file", path="notes.txt", offset=0),
        call("read_file", path="none.txt"),
        call("read_file", path="../etc/passwd"),
        call("read_file", path="notes.txt", offset=1 << 64),
        files=FILES,
    )
    assert used.texts == [
        "x = 1\n",
        "[lines 99 to 100 of 100]\nline 99\nline 100\n",
        "[lines 2 to 3 of 100; go on with offset=4]\nline 2\nline 3\n",
        "error: 'notes.txt' has 100 lines; offset 101 is after its end",
        (
            "error: the arguments of read_file do not fit: offset: Input should be greater than or "
            "equal to 1. Call it again."
        ),
        "error: there is no file 'none.txt'; list_dir shows the files",
        "error: a path has no empty parts and no '..': '../etc/passwd'",
        (
            "error: the arguments of read_file cannot be stored: they hold an integer beyond 64 "
            "bits, a name that is not valid text, or hundreds of levels. Call it again."
        ),
    ]
    assert [message.status for message in used.messages] == ["success"] * 3 + ["error"] * 5
    assert [data["ok"] for data in used.data] == [True] * 3 + [False] * 5
    assert used.data[6]["path"] == "../etc/passwd"


async def test_a_long_file_is_read_in_pieces(tmp_path: Path) -> None:
    long = "".join(f"{number:08}\n" for number in range(5_000)) + "x" * 30_000
    used = await use(
        tmp_path,
        NONE,
        call("read_file", path="long.txt"),
        call("read_file", path="long.txt", offset=5_001),
        files={"long.txt": long.encode()},
    )
    first, last = used.texts
    assert first.startswith("[lines 1 to 2222 of 5001; go on with offset=2223]\n00000000\n")
    assert last.startswith("[line 5001 of 5001 has 30000 characters; these are the first 20000]")


async def test_directories_are_listed_to_a_depth(tmp_path: Path) -> None:
    numbered_files = {f"many/{number}.txt": b"" for number in range(900)}
    used = await use(
        tmp_path,
        NONE,
        call("list_dir"),
        call("list_dir", path="src", depth=2),
        call("list_dir", depth=3, path="src"),
        call("list_dir", path="many"),
        call("list_dir", path="none"),
        files={**FILES, **numbered_files},
    )
    assert used.texts[0] == "many/\nnotes.txt\nsrc/"
    assert used.texts[1] == used.texts[2] == "a.py\ndeep/\ndeep/b.py"
    assert used.texts[3].endswith(
        "[500 more: list one of these directories, or use a smaller depth]"
    )
    assert used.texts[4] == "error: there is no directory 'none'"


async def test_a_file_is_edited_in_place(tmp_path: Path) -> None:
    used = await use(
        tmp_path,
        NONE,
        call("edit_file", path="src/a.py", old_text="x = 1", new_text="x = 2"),
        call("edit_file", path="src/a.py", old_text="x = 1", new_text="x = 2"),
        call("edit_file", path="src/a.py", old_text="x"),
        files=FILES,
    )
    assert used.texts[0] == "edited src/a.py (line 1)"
    assert used.texts[1].startswith("error: old_text is not in 'src/a.py'.")
    assert "new_text: Field required" in used.texts[2]
    assert await used.files() == {**FILES, "src/a.py": b"x = 2\n"}
    assert [file["name"] for file in used.data[0]["artifacts"]] == ["src/a.py"]


async def test_a_file_that_no_workspace_can_hold_is_refused(tmp_path: Path) -> None:
    used = await use(
        tmp_path,
        NONE,
        call("edit_file", path="src/a.py", old_text="1", new_text="1" * 2_000),
        call("write_file", path="src/a.py/b.py", content="y = 1\n"),
        call("write_file", path="new.txt", content="x" * 2_000),
        files=FILES,
        limits=Limits(file_bytes=1_500),
    )
    assert used.texts[0].endswith("a file has at most 1500; nothing was changed")
    assert "a file and a directory at once: 'src/a.py'" in used.texts[1]
    assert used.texts[2] == "error: 2000 bytes; a file has at most 1500"
    assert await used.files() == FILES


async def test_the_answer_distinguishes_a_replaced_file_from_a_new_one(tmp_path: Path) -> None:
    used = await use(
        tmp_path,
        NONE,
        call("write_file", path="new.py", content="x = 1\ny = 2\n"),
        call("write_file", path="new.py", content="x = 1\ny = 3\n"),
        call("write_file", path="new.py", content="x = 1\ny = 3\n"),
    )
    assert used.texts == [
        "wrote new.py (12 bytes)",
        (
            "wrote new.py (12 bytes); it replaced an existing file: 1 lines added, 1 "
            "removed; to change a part use edit_file"
        ),
        "wrote new.py (12 bytes)",
    ]


async def test_line_ends_and_names_are_unchanged(tmp_path: Path) -> None:
    shot = "Shot 9.41\u202fPM.txt"
    used = await use(
        tmp_path,
        NONE,
        call("write_file", path="dos.txt", content="one\n2\nthree\n"),
        call("write_file", path="dos.txt", content="four\n", append=True),
        call("edit_file", path="dos.txt", old_text="one\n2", new_text="1\n2\n2.5"),
        call("write_file", path="latin.txt", content="more", append=True),
        call("edit_file", path="latin.txt", old_text="caf", new_text="x"),
        call("list_dir"),
        call("write_file", path="Shot 9.41\\u202fPM.txt", content="seen\n"),
        call("read_file", path=shot),
        call("write_file", path="\u3000\U0001f468\u200d\U0001f469.md", content=""),
        files={
            "dos.txt": b"\xef\xbb\xbfone\r\ntwo\r\n",
            "latin.txt": b"caf\xe9\r\n",
            shot: b"s\r\n",
        },
    )
    files = await used.files()
    assert files["dos.txt"] == b"\xef\xbb\xbf1\r\n2\r\n2.5\r\nthree\r\nfour\r\n"
    assert files["latin.txt"] == b"caf\xe9\r\n"
    assert "is not UTF-8 text" in used.texts[3]
    assert "which are not UTF-8" in used.texts[4]
    assert used.texts[5] == "Shot 9.41\\u202fPM.txt\ndos.txt\nlatin.txt"
    assert used.texts[6].startswith("wrote Shot 9.41\\u202fPM.txt")
    assert (files[shot], used.texts[7]) == (b"seen\r\n", "seen\r\n")
    assert used.texts[8] == "wrote \\u3000\U0001f468\\u200d\U0001f469.md (0 bytes)"


async def test_the_event_of_a_change_has_its_diff_and_a_long_diff_is_left_out(
    tmp_path: Path,
) -> None:
    long = "".join(f"{number:030}\n" for number in range(600))
    used = await use(
        tmp_path,
        NONE,
        call("edit_file", path="notes.txt", old_text="line 50\n", new_text="fifty\n"),
        call("write_file", path="src/a.py", content="x = 2\n"),
        call("write_file", path="src/a.py", content="y = 3\n", append=True),
        call("write_file", path="new.py", content="z = 4\n"),
        call("write_file", path="notes.txt", content=long),
        files=FILES,
    )
    context = "\n line 47\n line 48\n line 49\n-line 50\n+fifty\n line 51\n line 52\n line 53"
    assert [data.get("diff") for data in used.data] == [
        f"--- a/notes.txt\n+++ b/notes.txt\n@@ -47,7 +47,7 @@{context}",
        "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n ",
        "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,3 @@\n x = 2\n+y = 3\n ",
        None,
        None,
    ]
    assert [data["artifacts"][0]["name"] for data in used.data][3:] == ["new.py", "notes.txt"]
