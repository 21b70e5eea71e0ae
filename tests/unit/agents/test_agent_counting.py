"""Which runs are evidence of a job's work."""

from __future__ import annotations

from typing import Any

import pytest

from agents.counting import computes, counts, outdates_itself
from agents.evidence import CHANGED, NO_END, ONLY_LOOKED, unproven
from agents.judgement import Said, judged
from agents.repair.subject import only_looked


def run(tool: str, text: str, *wrote: str, **more: Any) -> dict[str, Any]:
    made = [{"name": name} for name in wrote]
    code = {"text": text, "dropped_bytes": 0, "digest": None}
    return {
        "id": "r1", "number": 1, "revision": 1, "by": "executor", "tool": tool, "code": code,
        "succeeded": True, "failure": None, "artifacts": made, **more,
    }  # fmt: skip


def py(text: str, *wrote: str, **more: Any) -> dict[str, Any]:
    return run("python", text, *wrote, **more)


def sh(text: str, *wrote: str, **more: Any) -> dict[str, Any]:
    return run("shell", text, *wrote, **more)


TESTED = "def test_a():\n    from a import f\n    assert f()\n"
WRITES = f"""from pathlib import Path
Path('test_a.py').write_text('''\n{TESTED}''')
print('written')
"""

EVIDENCE: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a program of the job's own": (py("import a\na.f()"), ["a.py"]),
    "in a package": (py("from src.shop.a import f\nf()"), ["src/shop/a.py"]),
    "found while it runs": (
        py("import importlib, pathlib\nfor p in pathlib.Path('.').iterdir(): ..."), ["a.py"],
    ),
    "the tool that tests": (run("run_tests", "pytest"), ["a.py"]),
    "a shell script": (sh("bash run.sh 1"), ["run.sh"]),
    "a shell script that is sourced": (sh(". ./run.sh && greet"), ["run.sh"]),
    "a script without a name for its language": (sh("chmod +x bin/go; ./bin/go"), ["bin/go"]),
    "an awk program": (sh("awk -f sum.awk a.csv"), ["sum.awk"]),
    "a sed script": (sh("sed -nf cut.sed a.csv"), ["cut.sed"]),
    "a jq program": (sh("jq -rf pick.jq a.json"), ["pick.jq"]),
    "SQL": (sh("sqlite3 shop.db < report.sql"), ["report.sql"]),
    "SQL by Python": (
        py("import sqlite3\nsqlite3.connect(':memory:').executescript(open('report.sql').read())"),
        ["report.sql"],
    ),
    "a Makefile": (sh("make -s all"), ["Makefile"]),
    "a compiler": (sh("gcc -Wall -o sums sums.c", "sums"), ["sums.c", "sums"]),
    "what was compiled": (sh("gcc -o /tmp/x sums.c && /tmp/x 1 2"), ["sums.c"]),
    "every program there is": (sh('for f in *.py; do python "$f"; done'), ["a.py"]),
    "tests by the shell": (sh("python -m pytest -q"), ["a.py", "test_a.py"]),
    "written and run in one line": (
        sh("cat > a.py <<EOF\nprint(1)\nEOF\npython a.py; cat a.py", "a.py"), ["a.py"],
    ),
    "written and run in one program": (
        py("import subprocess\nopen('a.py', 'w').write('1')\n"
           "subprocess.run(['python', 'a.py'], check=True)", "a.py"),
        ["a.py"],
    ),
    "a name with a dash": (sh("bash backup-db.sh /tmp/x"), ["backup-db.sh"]),
    "one in Python": (sh("python sales-report.py"), ["sales-report.py"]),
    "a name with a space": (sh("python 'my script.py'"), ["my script.py"]),
    "one that Python reads": (
        py("import sqlite3\nsqlite3.connect('a.db').executescript(open('top-ten.sql').read())"),
        ["top-ten.sql"],
    ),
    "a command without a suffix, beside a module": (sh("./mytool --x 3"), ["mytool", "lib.py"]),
    "a script that was there": (sh("./scripts/check"), ["src/shop/a.py"]),
    "a tool that finds the tests": (sh("coverage run -m pytest"), ["a.py"]),
    "one that starts another": (sh("uv run pytest"), ["a.py"]),
    "one with a room of its own": (sh("tox -q"), ["a.py"]),
    "one behind a shell": (sh("bash -lc 'nox -s unit'"), ["a.py"]),
    "one of another language": (sh("npx jest"), ["sum.js"]),
    "its own": (sh("node --test"), ["sum.js"]),
    "its folder": (sh("node ."), ["index.js"]),
    "Python's folder": (sh("python ."), ["__main__.py", "a.py"]),
    "a wrapper": (sh("./gradlew test"), ["src/main/java/A.java"]),
    "a lone name": (sh("dotnet test"), ["A/Program.cs"]),
    "what was installed": (
        sh("pip install -e . && wc-tool a.txt"), ["src/counter/cli.py", "pyproject.toml"],
    ),
    "a notebook": (sh("jupyter nbconvert --execute a.ipynb"), ["a.ipynb", "helpers.py"]),
    "a site that is served": (
        sh("python -m http.server 8000 &\nsleep 1\ncurl -sf localhost:8000/a.html | head"),
        ["a.html", "script.js"],
    ),
    "lines that a shell is fed": (sh("bash <<EOF\n./mytool --x\nEOF"), ["mytool", "lib.py"]),
    "SQL that was written in the line": (
        sh("cat > q.sql <<EOF\nselect 1;\nEOF\nsqlite3 a.db < q.sql", "q.sql"), ["q.sql"],
    ),
    "a program that is fed, and was": (
        sh("cat > a.py <<EOF\nprint(1)\nEOF\npython < a.py", "a.py"), ["a.py"],
    ),
    "written, run and packed": (
        sh("cat > a.py <<EOF\nprint(1)\nEOF\npython a.py && tar czf o.tgz a.py", "a.py", "o.tgz"),
        ["a.py", "o.tgz"],
    ),
    "written, run and copied": (
        sh("cat > a.py <<EOF\nprint(1)\nEOF\npython a.py && cp a.py b.py", "a.py", "b.py"),
        ["a.py", "b.py"],
    ),
    "SQL that a program wrote and read": (
        py("open('q.sql', 'w').write('select 1')\nc.execute(open('q.sql').read())", "q.sql"),
        ["q.sql"],
    ),
    "written and imported by its name": (
        py("open('s.py', 'w').write('x=1')\nimport importlib\n"
           "print(importlib.import_module('s').x)", "s.py"),
        ["s.py"],
    ),
    "from its place": (
        py("open('s.py', 'w').write('x=1')\nfrom importlib.util import spec_from_file_location\n"
           "spec_from_file_location('s', 's.py').loader.load_module()", "s.py"),
        ["s.py"],
    ),
    "by the statement's own function": (
        py("open('s.py', 'w').write('x=1')\nprint(__import__('s').x)", "s.py"), ["s.py"],
    ),
    "written and started": (
        py("import os\nopen('s.py', 'w').write('print(1)')\nprint(os.popen('python s.py').read())",
           "s.py"),
        ["s.py"],
    ),
    "tests that were written and made": (
        py(f"{WRITES}\nimport pytest\npytest.main(['-q'])", "test_a.py"), ["a.py", "test_a.py"],
    ),
    "a generator": (sh("python gen.py", "models.py"), ["gen.py", "models.py"]),
    "a program in the call, where there is no other": (py("print(sum(range(5)))"), []),
    "one that makes data": (py("open('a.csv', 'w').write('1')", "a.csv"), ["a.csv"]),
    "data that a command has made": (sh("sort -u a.csv > b.csv", "b.csv"), ["b.csv"]),
    "data that awk has made": (sh("awk -F, '{ print $2 }' a.csv > b.txt", "b.txt"), ["b.txt"]),
    "a person's own": (py("print(1)", by="Ada"), ["a.py"]),
    "a program too long to see": (
        py("print(1)", code={"text": "x", "dropped_bytes": 0, "digest": "d"}), ["a.py"],
    ),
}  # fmt: skip
NONE: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a program that has nothing to do with the code": (py("print('ok')"), ["a.py"]),
    "nor by the shell": (sh("python -c 'print(1)'"), ["a.py"]),
    "nor with options": (sh("python3 -u -Wc 'print(1)' < in.txt"), ["a.py"]),
    "nor by its input": (sh("python - 3 <<EOF\nmake(1)\nnpm('x')\nEOF"), ["a.py"]),
    "nor by a pipe": (sh("echo 'print(1)' | python"), ["a.py"]),
    "nor in another language": (sh("node -e 'console.log(1)'; perl -le 'print 1'"), ["a.js"]),
    "nor beside what it writes": (
        sh("cat > a.py <<EOF\nmake(1)\nEOF\npython -c 'print(1)'", "a.py"), ["a.py"],
    ),
    "SQL that was written, and only told of": (
        py("open('q.sql', 'w').write('select 1')\nprint('wrote q.sql')", "q.sql"), ["q.sql"],
    ),
    "a loader in the text of a test": (
        py("open('test_a.py', 'w').write('''\nimport importlib\n''')", "test_a.py"), ["test_a.py"],
    ),
    "code that was written, and not run": (py("open('a.py', 'w').write('x')", "a.py"), ["a.py"]),
    "tests that were written, and not run": (py(WRITES, "test_a.py"), ["a.py", "test_a.py"]),
    "nor by the shell alone": (sh("cat > a.py <<EOF\nimport b\nEOF", "a.py"), ["a.py", "b.py"]),
    "code that was changed behind its run": (
        sh("python a.py && sed -i s/-/+/ a.py", "a.py"), ["a.py"],
    ),
    "a look": (sh("cat a.py; awk 1 a.py"), ["a.py"]),
    "a look by a shell in the shell": (sh("bash -c 'cat a.py'"), ["a.py"]),
    "data that was only written": (sh("cat > b.csv <<EOF\n1\nEOF", "b.csv"), ["b.csv"]),
    "data, where there is code": (sh("sort a.csv > b.csv", "b.csv"), ["a.py", "b.csv"]),
    "a script that is only read": (sh("bash -n run.sh; make -n"), ["run.sh", "Makefile"]),
    "an exit code that is hidden": (sh("python a.py || true"), ["a.py"]),
}  # fmt: skip


@pytest.mark.parametrize(("one", "made"), EVIDENCE.values(), ids=EVIDENCE)
def test_a_run_of_the_work_counts(one: dict[str, Any], made: list[str]) -> None:
    assert counts(one, made)
    assert unproven(state(one, made)) is None


@pytest.mark.parametrize(("one", "made"), NONE.values(), ids=NONE)
def test_what_shows_nothing_of_the_work_does_not(one: dict[str, Any], made: list[str]) -> None:
    assert not counts(one, made)
    if made != ["b.csv"]:
        why = ONLY_LOOKED if only_looked(one) else NO_END
        assert unproven(state(one, made)) == why


def state(one: dict[str, Any], made: list[str]) -> dict[str, Any]:
    job = {"task": "Add.", "files": []}
    return {"job": job, "revision": 1, "runs": [one], "artifacts": {name: {} for name in made}}


def test_a_line_of_awk_may_be_all_of_the_work_which_is_the_critic_s_to_judge() -> None:
    line = sh("awk '{ n += $2 } END { print n }' a.csv")
    assert computes(line)
    assert not computes(sh("head -1 a.csv"))
    assert not computes(py("import jq"))
    said = Said(verdict="approve", feedback="", run="r1", score=1.0)
    assert judged(state(line, []), said)["verdict"] == "approve"
    assert judged(state(line, []), None)["verdict"] == "revise"
    assert judged(state(line, ["sum.awk"]), said)["overruled"] == ONLY_LOOKED
    assert judged(state(sh("head -1 a.csv"), []), said)["overruled"] == ONLY_LOOKED


def test_what_outdates_itself_is_to_be_run_again() -> None:
    assert outdates_itself(sh("python a.py && sed -i s/-/+/ a.py", "a.py"))
    assert not outdates_itself(sh("python a.py && sed -i s/-/+/ a.py"))  # came to the same
    assert not outdates_itself(sh("python a.py && sort a.csv > b.csv", "b.csv"))
    assert not outdates_itself(py("open('a.py', 'w')", "a.py"))


def test_a_run_that_counts_must_still_be_of_the_files_as_they_stand() -> None:
    stale = {**state(py("import a", workspace="x"), ["a.py"]), "workspace": "y"}
    assert unproven(stale) == CHANGED
