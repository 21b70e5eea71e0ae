"""How the map of a repository ranks files and keeps its size. Parsing is tested in a sandbox."""

from __future__ import annotations

import time

import pytest

from agents.sandbox_programs import symbols
from agents.sandbox_programs.symbols import SourceFile, Symbol, Task


def source(path: str, *names: str, text: str = "") -> SourceFile:
    defined = [Symbol(name, number) for number, name in enumerate(names, 1)]
    return SourceFile(path, defined, frozenset([*names, *text.split()]))


def order(task: str, *sources: SourceFile) -> list[str]:
    return [file.path for file, _ in symbols.rank(list(sources), Task(task))]


@pytest.mark.parametrize(
    ("task", "precision"),
    [
        ("see app/core.py", 2),
        ("see ./src/app/core.py:12.", 2),
        ('File "/work/src/app/core.py", line 12, in f', 2),
        ("app.core.f fails", 2),
        ("core.py fails", 1),
        ("the core of it", 0),
        ("other/core.js and app.other", 0),
    ],
)
def test_a_task_names_a_path(task: str, precision: int) -> None:
    assert Task(task).precision("src/app/core.py") == precision


def test_different_forms_of_a_word_have_the_same_stem() -> None:
    assert symbols.stems("ParsedDates HTTPServer") == symbols.stems("parse_date http_servers")
    assert symbols.stems("the file is not of it") == frozenset()


def test_the_file_with_definitions_of_the_task_comes_first() -> None:
    paths = order(
        "Parsed dates before 1970 are wrong.",
        source("app/output.py", "shown"),
        source("app/when.py", "parse_date", "years"),
        source("tests/test_when.py", "test_parse_date"),
    )
    assert paths == ["app/when.py", "tests/test_when.py", "app/output.py"]


def test_a_path_in_a_traceback_comes_before_all_words() -> None:
    task = 'Dates are wrong. File "/work/app/output.py", line 3, in shown'
    assert order(task, source("app/dates.py", "date", "dates"), source("app/output.py", "x")) == [
        "app/output.py",
        "app/dates.py",
    ]


def test_a_definition_that_many_files_use_comes_before_an_unused_one() -> None:
    users = [source(f"u{number}.py", f"f{number}", text="shared_thing") for number in range(5)]
    paths = order("Make it better.", source("b.py", "shared_thing"), source("a.py", "x"), *users)
    assert paths[0] == "b.py"


def test_a_rare_word_counts_more_than_a_word_of_every_file() -> None:
    other_files = [source(f"app/a{number}.py", f"job_{number}") for number in range(9)]
    assert order("a job in the ledger", *other_files, source("z.py", "Ledger"))[0] == "z.py"


def test_the_same_input_gives_the_same_map_in_any_order() -> None:
    sources = [source(f"p{number}.py", f"name_{number % 3}", "common") for number in range(30)]
    task = Task("name_1 and common things")
    rendered = symbols.render_map(symbols.rank(sources, task), 500)
    assert symbols.render_map(symbols.rank(sources[::-1], task), 500) == rendered
    assert len(rendered) <= 500


def test_the_map_fills_its_limit_of_bytes_and_does_not_exceed_it() -> None:
    files = symbols.rank([source("\u00e4" * 40 + f"{n}.py", "f") for n in range(9)], Task("x"))
    text = symbols.render_map(files, 300)
    assert len(text.encode()) <= 300
    assert text.count("\n") == 2
    assert symbols.render_map(files, 10) == ""


def test_a_line_has_the_best_symbols_in_the_order_of_the_file() -> None:
    definitions = [
        Symbol("Thing", 3),
        Symbol("spare", 90),
        Symbol("run", 5, "Thing"),
        Symbol("run", 40),
        Symbol("late", 70, "Gone"),
    ]
    assert symbols.render_file("a.py", definitions[:1], 5) == "a.py: Thing 3"
    full_line = "a.py: Thing 3 (run 5), run 40, Gone (late 70), spare 90"
    assert symbols.render_file("a.py", definitions, 5) == full_line
    assert symbols.render_file("a.py", definitions, 2) == "a.py: Thing 3, spare 90, and 3 more"
    assert symbols.render_file("a.py", [], 2) == "a.py"


def test_a_file_that_breaks_or_delays_its_parser_affects_no_other_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(symbols, "FILE_SECONDS", 0.2)
    grammars = {"py": ("no_such_grammar", "", ""), "bad": ("sys", "exit", "")}
    grammars["slow"] = ("signal", "pause", "")
    paths = ["a.py", "b.bad", "c.slow", "d.py", "e.bad"]
    result = symbols.definitions(paths, grammars, time.monotonic() + 30)
    assert result == {"a.py": [], "d.py": []}
    started_at = time.monotonic()
    assert symbols.definitions(["c.slow", "d.py"], grammars, started_at + 0.1) == {}
    assert symbols.definitions(["b.bad"] * 1_000, grammars, started_at + 30) == {}
    assert time.monotonic() - started_at < 10


def test_the_files_with_the_most_relevant_paths_are_parsed_first() -> None:
    sizes = {f"lib/b{number:05}/x.py": 10 for number in range(20_000)}
    sizes |= {"lib/ledger.py": 10, "tests/test_ledger.py": 10, "huge.py": symbols.FILE_BYTES + 1}
    chosen = symbols.choose_paths(sizes, Task("The ledger is wrong, see b19999/x.py"))
    assert chosen[:3] == ["lib/b19999/x.py", "lib/ledger.py", "tests/test_ledger.py"]
    assert len(chosen) == symbols.MOST_FILES
    assert "huge.py" not in chosen
    full = symbols.choose_paths(dict.fromkeys(sizes, symbols.FILE_BYTES), Task(""))
    assert len(full) == symbols.MOST_BYTES // symbols.FILE_BYTES


LONG = " ".join(f"word{letter} about the common value of an order" for letter in "abcdefgh")


@pytest.mark.parametrize(
    "task",
    [
        f"{LONG}. RateLimiter forgets its window. {LONG}",
        f"{LONG}. `limit` forgets its window. {LONG}",
        f"{LONG}. limit() forgets its window. {LONG}",
        f"{LONG}. The class limit forgets its window. {LONG}",
        f"{LONG}. A Ledger forgets its window. {LONG}",
        f"{LONG}. max_burst forgets its window. {LONG}",
    ],
)
def test_a_file_that_defines_a_name_of_the_task_comes_before_common_words(task: str) -> None:
    words = LONG.replace(".", "").split()
    common = [
        source(f"app/order_value_{n}.py", f"value_{n}", "order", text=" ".join(words))
        for n in range(9)
    ]
    named_file = source("app/z.py", "RateLimiter", "limit", "max_burst", "Ledger")
    assert order(task, *common, named_file)[0] == "app/z.py"


def test_a_name_that_many_files_define_counts_little() -> None:
    other_files = [source(f"m{n}.py", "set_up", text="x") for n in range(8)]
    relevant_file = source("app/billing.py", "charge", text="tariff")
    paths = order("set_up forgets the tariff of billing.", *other_files, relevant_file)
    assert paths[0] == "app/billing.py"
