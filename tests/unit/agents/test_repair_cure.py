"""When a failure is over: sequences as models make them, and what is open behind each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from agents.repair.cure import Between
from agents.failures.failure import PROGRAM
from agents.repair.opened import open_failures
from agents.repair.repair import failed_in_a_row, mending, repair_of
from agents.repair.subject import subject
from agents.state import Repair, Run


@dataclass
class Pass:
    """Runs over files, one behind the other, and what is told of each."""

    files: dict[str, str] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    repairs: list[Repair] = field(default_factory=list)
    left: dict[str, dict[str, str]] = field(default_factory=dict)

    def ran(self, tool: str, text: str, wrong: dict[str, Any] | None, **more: Any) -> None:
        """One run; `wrong` is its failure, None where it succeeded."""
        number = len(self.runs) + 1
        code = {"text": text, "dropped_bytes": 0, "digest": None}
        run: Run = {
            "id": f"r{number}", "number": number, "revision": 1, "by": "executor", "tool": tool,
            "code": code, "succeeded": wrong is None, "failure": wrong,
            "exit_code": 0 if wrong is None else 1,
            "on": str(sorted(self.files.items())), "workspace": str(sorted(self.files.items())),
            **more,
        }  # fmt: skip
        opened = [(each, self._between(each, run)) for each in self.open]
        self.runs.append(run)
        self.left[run["id"]] = dict(self.files)
        if mends := mending(run, opened):
            self.repairs.append(repair_of(run, mends, self.repairs, "m", 0))

    def _between(self, failed: Run, run: Run) -> Between:
        scripts = sorted(subject(run, self.files).scripts & self.files.keys())
        text = "\n".join([run["code"]["text"], *(self.files[path] for path in scripts)])
        return Between(self.left[failed["id"]], dict(self.files), text)

    @property
    def open(self) -> list[Run]:
        return open_failures(self.runs, self.repairs)


def fails(kind: str, said: str, file: str | None = PROGRAM, line: int | None = 1) -> dict[str, Any]:
    """The failure of a run, as `agents.failures.failure` has it."""
    name = "the program" if file == PROGRAM else file
    cause = f"{said} ({name}, line {line}: source)" if file else said
    return {
        "class": kind, "cause": cause, "exception": said.split(":", maxsplit=1)[0], "file": file,
        "line": line if file else None,
    }  # fmt: skip


def py(code: str, wrong: dict[str, Any] | None = None, **more: Any) -> Any:
    return lambda work: work.ran("python", code, wrong, **more)


def sh(line: str, wrong: dict[str, Any] | None = None, **more: Any) -> Any:
    return lambda work: work.ran("shell", line, wrong, **more)


def checks(*paths: str, wrong: dict[str, Any] | None = None, **more: Any) -> Any:
    return lambda work: work.ran("run_tests", " ".join(["pytest", *paths]), wrong, **more)


def write(path: str, text: str) -> Any:
    return lambda work: work.files.update({path: text})


def drop(path: str) -> Any:
    return lambda work: work.files.pop(path)


def walked(*steps: Any, **files: str) -> Pass:
    work = Pass({name.replace("__", "."): text for name, text in files.items()})
    for step in steps:
        step(work)
    return work


WRONG, RIGHT = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"
RED = fails("test_failure", "1 of 2 tests failed", None)
NOT_SO = fails("assertion", "AssertionError", line=2)
IN_SUMS = fails("key", "KeyError: 'x'", "sums.py", 2)
PRINTED = {"stderr": {"text": (
    "Traceback (most recent call last):\n  File \"/work/sums.py\", line 2, in x\nKeyError: 'x'\n"
)}}  # fmt: skip
OTHER = {"stderr": {"text": PRINTED["stderr"]["text"].replace("'x'", "'y'")}}
CHECK = "from sums import add\nassert add(1, 2) == 3"
SALES = """import pandas as pd
df = pd.read_csv("sales.csv")
print(df.groupby("region")["amout"].sum())
"""
NO_COLUMN = fails("key", "KeyError: 'Column not found: amout'", line=3)
MEND = write("sums.py", RIGHT)

CURED: dict[str, tuple[Any, ...]] = {
    "the same program over mended files": (py(CHECK, NOT_SO), MEND, py(CHECK)),
    "the same program, which failed by chance": (py(CHECK, NOT_SO), py(CHECK)),
    "the tests again": (checks(wrong=RED), MEND, checks()),
    "the tests by the shell": (checks(wrong=RED), MEND, sh("python -m pytest -q 2>&1 | tail -5")),
    "the same tests by other words": (
        sh("pytest -q -k one --ignore=x", RED), MEND, sh("python -u -m pytest -sqkone --ignore x"),
    ),
    "all tests by unittest": (checks(wrong=RED), MEND, sh("python -m unittest discover -s .")),
    "the tests by the tool, behind the shell": (
        sh("cd . && pytest -x -q", RED), MEND, checks("test_sums.py"),
    ),
    "all tests behind one": (checks("test_sums.py::test_one", wrong=RED), MEND, checks()),
    "the script behind an inline program that imports it": (
        py("import sums\nprint(sums.total())", IN_SUMS), MEND, sh("python sums.py"),
    ),
    "a script that checks behind an inline check": (
        py(CHECK, NOT_SO), write("sums.py", RIGHT + "assert add(1, 2) == 3\n"),
        sh("python sums.py"),
    ),
    "another check of the same mended code": (
        py(CHECK, NOT_SO), MEND, py("import sums\nassert sums.add(2, 2) == 4"),
    ),
    "all tests behind an inline check of mended code": (py(CHECK, NOT_SO), MEND, checks()),
    "a wrong check, put right": (py(CHECK.replace("3", "4"), NOT_SO), py(CHECK)),
    "an inline program, written anew": (py(SALES, NO_COLUMN), py(SALES.replace("amout", "amount"))),
    "an inline program, mended in its last word": (
        py("total = 1\nprint(totl)", fails("name", "NameError: name 'totl' is not", line=2)),
        py("total = 1\nprint(total)"),
    ),
    "an inline program, put into a file": (
        py(SALES, NO_COLUMN), write("report.py", SALES.replace("amout", "amount")),
        sh("python report.py"),
    ),
    "a syntax error": (
        py("def f(:\n    return 7\nprint(f())", fails("syntax", "SyntaxError: invalid syntax")),
        py("def f():\n    return 7\nprint(f())"),
    ),
    "a probe of a library, done without": (
        py("import flask", fails("import", "ModuleNotFoundError: No module named 'flask'")),
        write("app.py", "import http.server"), sh("python app.py"),
    ),
    "a module that was not there yet": (
        py(CHECK, fails("import", "ModuleNotFoundError: No module named 'other'")),
        write("other.py", ""), py("from sums import add\nassert add(3, 4) == 7"),
    ),
    "a renamed script": (
        sh("python sums.py", IN_SUMS), drop("sums.py"), write("shop.py", RIGHT),
        sh("python shop.py"),
    ),
    "a script with other arguments, mended": (
        sh("python sums.py 1", IN_SUMS), MEND, sh("PYTHONPATH=. timeout 10 python3 ./sums.py 2"),
    ),
    "a script that waited for a keyboard": (
        sh("python sums.py", fails("unknown", "EOFError: EOF when reading a line", "sums.py")),
        sh("echo 3 | python sums.py"),
    ),
    "mended and run in one line": (checks(wrong=RED), MEND, sh("sed -i s/x/y/ a && pytest")),
    "too slow, and made smaller": (
        py("n = 10**9\nprint(sum(range(n)))", fails("timeout", "it ran for longer", None)),
        py("n = 1000\nprint(sum(range(n)))"),
    ),
    "a run that catches another exception": (
        sh("python sums.py", IN_SUMS), MEND, sh("python sums.py", **OTHER),
    ),
    "the same line, whose exit code was hidden": (
        sh("python sums.py || true", IN_SUMS), MEND, sh("python sums.py || true"),
    ),
    "an awk program, mended": (
        sh("awk -f sum.awk a.csv", fails("unknown", "syntax error", None)),
        write("sum.awk", "{ n += $2 }"), sh("awk -f sum.awk b.csv"),
    ),
    "a C program, mended": (
        sh("gcc -o /tmp/a sums.c", fails("unknown", "sums.c:1: error", None)),
        write("sums.c", "int main() {}"), sh("gcc -Wall -o /tmp/b ./sums.c && /tmp/b"),
    ),
    "the same tests, with a word of why": (
        sh("pytest", RED), MEND, sh("pytest -q  # once more"),
    ),
    "two failures by one run": (
        checks(wrong=RED), sh("pytest test_sums.py", RED), MEND, checks(),
    ),
    "nobody needs a file that is not there": (
        sh("cat missing.txt", fails("file", "cat: missing.txt: No such file", None)),
    ),
    "nor a command": (sh("tree . && rg x", fails("file", "not found", None), exit_code=127),),
    "nor a library": (sh("pip install flask", fails("network_denied", "no network", None)),),
    "nor tests where there are none": (
        checks(wrong=fails("unknown", "no tests were found: files are named", None), exit_code=5),
    ),
    "nor tests that are only counted": (
        sh("pytest --collect-only", fails("import", "ModuleNotFoundError: No module", None)),
    ),
    "nor a script that says how it is used": (
        sh("python sums.py", fails("unknown", "exit code 2", None), exit_code=2,
           stderr={"text": "usage: sums.py [-h] N\nsums.py: error: N is missing\n"}),
    ),
    "nor a script that is not there": (
        sh("python main.py", fails("file", "[Errno 2]", None), exit_code=2,
           stderr={"text": "python: can't open file '/work/main.py': [Errno 2]\n"}),
    ),
}  # fmt: skip

OPEN: dict[str, tuple[Any, ...]] = {
    "a look at a file": (checks(wrong=RED), sh("cat sums.py && ls -la | head")),
    **{
        line: (checks(wrong=RED), MEND, sh(line))
        for line in (
            "python -m pytest --version",
            "python -u -m pytest --collect-only -q",
            "pytest -q --co test_sums.py",
            "python -c 'print(1)' && python -m pytest --co -q",
            "python sums.py --help",
            "pytest -kone",
            "pytest -qk one",
            "pytest -m=slow",
            "pytest -s test_sums.py::test_one",
            "pytest --ignore=test_sums.py",
            "pytest --ignore test_sums.py",
            "pytest --deselect=test_sums.py::test_one",
            "python -m unittest discover -p 'test_o*.py'",
        )
    },
    "a file that was written by the shell": (
        checks(wrong=RED), sh("cat > test_b.py <<'EOF'\nimport sums\nit's\npytest\nEOF"),
    ),
    "a look behind a change": (checks(wrong=RED), MEND, sh("sed -n 1,20p sums.py")),
    "a look by a program": (py(CHECK, NOT_SO), py("print(open('sums.py').read())")),
    "a call without a check": (py(CHECK, NOT_SO), MEND, py("import sums\nprint(sums.add(1, 2))")),
    "a script that only defines": (py(CHECK, NOT_SO), MEND, sh("python sums.py")),
    "a look at the data": (
        py(SALES, NO_COLUMN),
        py('import pandas as pd\ndf = pd.read_csv("sales.csv")\nprint(df.columns)'),
    ),
    "something else altogether": (py(SALES, NO_COLUMN), py("print(1)")),
    "one test of many": (checks(wrong=RED), MEND, checks("test_sums.py::test_one")),
    "the other tests": (checks("test_sums.py", wrong=RED), MEND, checks("test_shop.py")),
    "those with another name": (checks(wrong=RED), MEND, checks("-k", "one")),
    "a script behind tests": (checks(wrong=RED), MEND, sh("python sums.py")),
    "other input for what is as it was": (sh("python sums.py 0", IN_SUMS), sh("python sums.py 1")),
    "tests of what is as it was": (py(CHECK, NOT_SO), checks()),
    "a run whose exit code is hidden": (
        sh("python sums.py 1", IN_SUMS), MEND, sh("python sums.py 2 || true"),
    ),
    "a run that catches the same exception": (
        sh("python sums.py", IN_SUMS), MEND, sh("python sums.py", **PRINTED),
    ),
    "nor by the python tool": (
        py("import sums\nsums.x()", IN_SUMS), MEND, py("import sums\nsums.x()", **PRINTED),
    ),
    "a new file that the failure is not about": (
        py(CHECK, NOT_SO), write("notes.md", "x"), checks(),
    ),
}  # fmt: skip
FILES = {
    "sums__c": "int",
    "sum__awk": "{",
    "sums__py": WRONG,
    "test_sums__py": "",
    "sales__csv": "region,amount\n",
}


@pytest.mark.parametrize("steps", CURED.values(), ids=CURED)
def test_an_honest_repair_is_seen_as_one(steps: tuple[Any, ...]) -> None:
    work = walked(*steps, **FILES)
    assert work.open == []
    if len(work.runs) > 1:
        assert work.repairs[-1]["fixed"]


@pytest.mark.parametrize("steps", OPEN.values(), ids=OPEN)
def test_what_shows_no_repair_leaves_the_failure_open(steps: tuple[Any, ...]) -> None:
    if steps == OPEN["the other tests"]:
        steps = (write("test_shop.py", ""), *steps)
    work = walked(*steps, **FILES)
    assert [run["id"] for run in work.open] == ["r1"]
    assert work.repairs == []


def test_code_that_breaks_before_it_tells_how_it_is_used_is_to_be_mended() -> None:
    work = walked(sh("python sums.py --help", IN_SUMS), **FILES)
    assert [run["id"] for run in work.open] == ["r1"]
    work = walked(sh("python sums.py --help", IN_SUMS), MEND, sh("python sums.py 1 2"), **FILES)
    assert work.open == []
    assert walked(sh("python sums.py --help", fails("unknown", "exit code 1")), **FILES).open == []
    assert walked(sh("cat sums.py", IN_SUMS), **FILES).open == []


def test_a_failed_repair_stands_for_what_it_was_to_mend() -> None:
    work = walked(checks(wrong=RED), MEND, checks(wrong=RED), sh("ls"), checks(wrong=RED), **FILES)
    assert [run["id"] for run in work.open] == ["r4"]
    assert [(each["of"], each["same"]) for each in work.repairs] == [
        ("r1", "failure"),
        ("r2", "code"),
    ]
    assert [each["attempt"] for each in work.repairs] == [1, 2]


def test_a_script_that_breaks_behind_tests_is_a_failed_try_and_both_are_open() -> None:
    work = walked(checks(wrong=RED), MEND, sh("python sums.py", IN_SUMS), **FILES)
    assert [run["id"] for run in work.open] == ["r1", "r2"]
    assert (work.repairs[0]["of"], work.repairs[0]["fixed"]) == ("r1", False)


def test_a_typo_in_a_look_takes_nothing_from_what_was_tried() -> None:
    typo = py("print(df.colums)", fails("name", "AttributeError: no attribute 'colums'"))
    work = walked(
        checks(wrong=RED), MEND, checks(wrong=RED), typo, py("print(df.columns)"),
        write("sums.py", WRONG), checks(wrong=RED), **FILES,
    )  # fmt: skip
    assert [(each["run"], each["of"], each["fixed"]) for each in work.repairs] == [
        ("r2", "r1", False), ("r4", "r3", True), ("r5", "r2", False),
    ]  # fmt: skip
    assert [each["run"] for each in failed_in_a_row(work.repairs)] == ["r2", "r5"]
    assert work.repairs[-1]["attempt"] == 2


def test_what_a_person_runs_counts_instead_of_all_before_it() -> None:
    work = walked(py(CHECK, NOT_SO), **FILES)
    work.ran("python", "print(1)", None, by="Ada")
    assert work.open == []
    work.ran("python", "x", NOT_SO, by="Ada")
    assert [run["id"] for run in work.open] == ["r3"]
    work.ran("python", "print(2)", None)
    assert (work.open, work.repairs[-1]["of"], work.repairs[-1]["fixed"]) == ([], "r3", True)


def test_a_failure_of_an_older_release_is_over_with_the_next_success() -> None:
    older = {"id": "r1", "number": 1, "revision": 1, "code": {"text": "x"}, "succeeded": False}
    good = {**older, "id": "r2", "number": 2, "succeeded": True}
    assert open_failures([older], []) == [older]
    assert open_failures([older, good], []) == []
