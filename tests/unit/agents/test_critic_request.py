"""The pieces of the critic's request: its budget, patches, data, inputs, quoted outputs."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from agents.context.overflow import cut, size
from agents.context.ranked import LEAST_BUDGET, MOST_BUDGET, budget_of, fit_message
from agents.critic.files import change_of, files_read, input_text, shape_of
from agents.critic.runs import excerpt, only_looks, quoted_words
from agents.critic.verified import verification_lines
from agents.evidence.changes import ChangedFile
from agents.ports import Bounds
from agents.prompts import Part, Ranked, with_parts
from agents.texts import weight


def message(*parts: Ranked) -> HumanMessage:
    """A request with these parts, after a task that stays."""
    text, marks = "The task.", []
    for ranked_part in parts:
        marks.append(Part(len(text) + 1, len(text) + 1 + len(ranked_part.text), ranked_part))
        text = f"{text}\n{ranked_part.text}"
    return with_parts(HumanMessage(""), text, marks)


def part(name: str, characters: int, rank: int, *, in_full: bool = False) -> Ranked:
    return Ranked(name * characters, rank, f"[{name}: not shown]", in_full)


@pytest.mark.parametrize(
    ("context", "budget"),
    [(None, 24_000), (4_096, 24_000), (32_000, 32_000), (128_000, 128_000), (10**6, 200_000)],
)
def test_the_budget_is_a_third_of_the_context_within_limits(
    context: int | None, budget: int
) -> None:
    assert budget_of(context, Bounds().critic_share) == budget


def test_data_is_left_out_before_the_code_under_review() -> None:
    request = message(part("d", 9_000, 3), part("c", 20_000, 1, in_full=True), part("t", 2_000, 2))
    text = str(fit_message(request, 24_000).content)
    assert ("c" * 20_000 in text, "t" * 2_000 in text) == (True, True)
    assert "characters left out" in text
    assert weight(text) <= 24_000
    assert str(fit_message(request, 40_000).content) == request.content


def test_code_is_not_cut_unless_it_alone_is_larger_than_the_budget() -> None:
    small, large = part("c", 7_000, 1, in_full=True), part("e", 8_000, 2, in_full=True)
    text = str(fit_message(message(small, large), 10_000).content)
    assert "c" * 7_000 in text
    assert "[e: not shown]" in text
    assert "characters left out" not in text
    alone = str(fit_message(message(part("c", 30_000, 1, in_full=True)), 24_000).content)
    assert "characters left out" in alone
    assert alone.count("c") > 15_000


PARTS = st.lists(
    st.tuples(st.integers(0, 3_000), st.integers(0, 5), st.booleans(), st.sampled_from("xé漢")),
    max_size=12,
)


@given(PARTS, st.integers(0, 20_000))
def test_a_request_fits_and_lists_what_it_leaves_out(parts: Any, budget: int) -> None:
    ranked = [
        Ranked(sign * length, rank, f"[part {number}, not shown]", in_full)
        for number, (length, rank, in_full, sign) in enumerate(parts)
    ]
    request = message(*ranked)
    light = fit_message(request, budget)
    text = str(light.content)
    fixed = weight("The task.") + sum(1 + weight(ranked_part.stand_in) for ranked_part in ranked)
    assert weight(text) <= max(budget, fixed) or text == request.content
    assert text.startswith("The task.")
    again = fit_message(light, budget)
    assert weight(str(again.content)) <= weight(text)
    for ranked_part in ranked:
        if ranked_part.in_full and weight(ranked_part.text) <= budget:
            assert ranked_part.text in text or ranked_part.stand_in in text


def test_a_refused_request_loses_data_before_code() -> None:
    """A provider refuses the request as too long, although the context has space for it."""
    request = message(part("d", 9_000, 3), part("c", 5_000, 1, in_full=True))
    (light,) = cut([request], size([request]) // 2)
    assert "c" * 5_000 in str(light.content)


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_output_of_a_tool_does_not_displace_the_evidence(outputs: int) -> None:
    """The context has 8,000 tokens, and `read_file` returns up to 20,000 characters."""
    calls = [{"name": "read_file", "args": {}, "id": str(n)} for n in range(outputs)]
    answers = (ToolMessage("o" * 20_000, tool_call_id=call["id"]) for call in calls)
    request = message(part("c", 9_000, 1, in_full=True), part("d", 9_000, 2))
    fitted = cut([request, AIMessage("", tool_calls=calls), *answers], 15_000)
    assert size(fitted) <= 15_000
    assert "c" * 9_000 in str(fitted[0].content)
    assert all("ooo\n[... " in str(answer.content) for answer in fitted[2:])


def changed(path: str, before: str | None, after: str | None) -> ChangedFile:
    old, new = (None if text is None else text.encode() for text in (before, after))
    return ChangedFile(path, old, new)


def test_the_change_is_a_patch_and_new_files_in_full() -> None:
    old = "".join(f"line {number}\n" for number in range(3_000))
    new = old.replace("line 7\n", "line seven\n")
    files = [
        changed("app.py", old, new),
        changed("new.py", None, "x = 1\n"),
        changed("gone.py", "x = 1\n", None),
        changed("test_app.py", None, "def test(): assert 1\n"),
        changed("notes.md", None, "# Notes\n"),
        changed("result.json", None, "[1, 2]\n"),
        ChangedFile("plot.png", None, b"\x89PNG\r\n\x1a\n\0"),
    ]
    change = change_of(files, {"result.json", "new.py"})
    texts = {file.path: file for file in change.code}
    assert sorted(texts) == ["app.py", "gone.py", "new.py", "notes.md"]
    assert "7\t line 6\n\t-line 7\n8\t+line seven\n9\t line 8\n" in texts["app.py"].text
    assert "line 2000" not in texts["app.py"].text
    assert (texts["new.py"].heading, texts["new.py"].text) == ("new.py, new", "1\tx = 1\n")
    assert texts["gone.py"].heading == "gone.py, deleted"
    assert [file.path for file in change.tests] == ["test_app.py"]
    assert [file.path for file in change.data] == ["result.json", "plot.png"]


def test_a_small_edited_file_is_one_patch_with_all_its_lines() -> None:
    lines = [f"line {number}\n" for number in range(40)]
    files = [
        changed("app.py", "".join(lines), "".join(lines).replace("line 20\n", "new\nlines\n")),
        changed("empty.py", "x = 1\n", ""),
        changed("no_end.py", "x = 1\n", "x = 1"),
        changed("begun.py", "", "-- x\n"),
        *(changed(f"large_{n}.py", "a\n" * 4_000, "a\n" * 4_000 + "b\n") for n in range(2)),
    ]
    texts = {file.path: file.text for file in change_of(files, ()).code}
    patch = texts["app.py"].split("\n")
    assert patch[2:4] == ["@@ -1,41 +1,42 @@", "1\t line 0"]
    assert patch[23:27] == ["\t-line 20", "21\t+new", "22\t+lines", "23\t line 21"]
    assert patch[-1] == "41\t line 39"
    assert texts["empty.py"].endswith("@@\n\t-x = 1")
    assert texts["begun.py"].endswith("@@\n1\t+-- x")
    assert (len(texts["large_0.py"]) > 4_000, len(texts["large_1.py"]) < 200) == (True, True)


@pytest.mark.parametrize("name", ["a.csv", "a.json"])
def test_names_in_data_cannot_imitate_the_request(name: str) -> None:
    rows = {"a.csv": '"x\n=== app.py, new"\n', "a.json": '{"x\\n=== app.py, new": 1}'}
    assert "\n" not in shape_of(name, rows[name].encode())


@pytest.mark.parametrize(
    ("path", "content", "shape"),
    [
        ("a.csv", b"day,amount\n1,2\n3,4\n", "3 rows x 2 columns, the first row: day, amount"),
        ("a.csv", b"\xef\xbb\xbfday,amount\r\n1,2\r\n", "the first row: day, amount"),
        ("a.csv", b"day,amount\r1,2\r", "2 rows x 2 columns"),
        ("a.csv", b"", "0 lines"),
        ("a.json", b'{"a": 1, "b": 2}', "an object with 2 keys (a, b)"),
        ("a.json", b'[{"a": 1}]', "a list of 1, the first is an object with 1 keys (a)"),
        ("a.json", b"[1,", "not valid json"),
        ("a.json", b"[" * 100_000, "not valid json"),
        ("a.jsonl", b'{"a": 1}\n{"a": 2}\n', "2 values"),
        ("a.txt", b"one\ntwo", "2 lines, 7 bytes"),
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0", "640 x 480 pixels"),
    ],
)
def test_the_shape_of_data(path: str, content: bytes, shape: str) -> None:
    assert shape in shape_of(path, content)


def test_an_input_with_code_or_prose_is_shown_in_full_and_data_in_an_excerpt() -> None:
    long = b"word " * 2_000
    for path in ("a.py", "spec.md", "notes.txt"):
        assert input_text(path, long) == long.decode()
    for path in ("a.csv", "a.json"):
        assert len(input_text(path, long)) < 3_200
    assert "left out" in input_text("a.py", long * 2)
    assert len(input_text("log.txt", long * 2)) < 3_200
    assert input_text("a.bin", b"\0\xff") == ""


def test_the_files_that_the_work_names_are_its_inputs() -> None:
    paths = ["data/sales.csv", "lib/dates.py", "src/money.py", "b/x.py", "c/x.py", "other.txt"]
    code = "import dates\nfrom money import parse\nopen('sales.csv')\nx.py\n"
    assert files_read(paths, [code]) == ["data/sales.csv", "lib/dates.py", "src/money.py"]
    assert files_read(paths, ["see ./b/x.py."]) == ["b/x.py"]


def test_names_are_searched_in_a_time_that_grows_with_the_text() -> None:
    begin = time.process_time()
    files_read(["a.py"], ["." * 1_000_000, "from " + "." * 1_000_000, "a " * 500_000])
    assert time.process_time() - begin < 3


def test_the_lines_that_the_answer_quotes_are_shown() -> None:
    lines = [f"row {number} of the table\n" for number in range(2_000)]
    lines[1_000] = "best month: February, 72.25\n"
    words = quoted_words("The best month was February with 72.25 in total.")
    text = excerpt("".join(lines), words, 4_000)
    assert "best month: February, 72.25\n" in text
    assert ("row 0 of" in text, "row 1999 of" in text) == (True, True)
    assert "lines left out" in text
    assert len(text) < 5_000


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("cat a.py", True),
        ("ls -l && cat a.py | head -3", True),
        ("cd src\nls", True),
        ("cat a.py; python a.py", False),
        ("cat > a.py", False),
        ("grep -c x a.py", False),
        ("cat $(python a.py)", False),
        ('echo "sum: $(python a.py)"', False),
        ("echo `python a.py`", False),
        ("cat 'a", False),
    ],
)
def test_a_run_that_only_shows_files_is_known(command: str, looks: bool) -> None:
    run = {"tool": "shell", "artifacts": [], "code": {"text": command}}
    assert only_looks(run) is looks
    assert not only_looks({**run, "artifacts": [{"name": "a"}]})
    assert not only_looks({**run, "tool": "verify"})


def test_the_figures_of_a_verification_are_sentences() -> None:
    tried = {"replaced": ["a.py"], "end": "exited", "stderr": {"text": "ImportError: no\n"}}
    tried = {**tried, "stdout": {"text": ""}, "undecided": False, "still_green": False}
    mutation = {"path": "a.py", "line": 3, "before": "a < b", "after": "a <= b"}
    lines = verification_lines(
        {
            "experiments": [
                {**tried, "kind": "before", "still_green": True},
                {**tried, "kind": "unloadable"},
                {**tried, "kind": "unloadable", "undecided": True, "end": "timeout"},
            ],
            "strength": {"noticed": 3, "tried": 4, "untried": 16, "unnoticed": [mutation]},
            "functions": {"executed": ["a.py::f"], "not_executed": ["a.py::g"]},
            "notes": [],
            "own_word": True,
            "judged_by": "exit_code",
        }
    )
    text = "\n".join(lines)
    assert "With a.py as before the job, it still passes." in text
    assert "With a.py unable to load, it fails, as it should: ImportError: no" in text
    assert "a limit ended it (timeout)" in text
    assert "It notices 3 of 4 small changes of the code; 16 were not tried, for time." in text
    assert "`a <= b` instead of `a < b` in a.py:3" in text
    assert "It executes 1 of the 2 functions that the job changed; not a.py::g." in text
    assert ("own word" in text, "Only its exit code decides" in text) == (True, True)
    assert verification_lines({"experiments": []}) == []  # a run of an older release
    green = {**tried, "kind": "unloadable", "still_green": True}
    note = "The verification does not exercise a.py."
    verification = {"experiments": [green], "notes": [note], "holds": True}
    assert verification_lines(verification) == [note]
    assert len(verification_lines({**verification, "holds": False, "notes": []})) == 1
    before = {**green, "kind": "before"}  # a run of a job that must not change behaviour
    assert len(verification_lines({**verification, "experiments": [before, green]})) == 2


def test_the_docs_have_the_limits_of_the_code() -> None:
    assert (LEAST_BUDGET, MOST_BUDGET) == (24_000, 200_000)
